// What follows from a change, without the modules knowing each other: one tells, others hear.

const heard = {};

/** Calls `f` each time that this is told. */
export const on = (what, f) => (heard[what] ??= []).push(f);

/** Tells all that hear this. */
export const tell = (what, ...said) => heard[what]?.forEach((f) => f(...said));
