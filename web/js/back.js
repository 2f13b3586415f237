// What answers the editor's requests: the service that the page comes from. The folder that
// web/build makes has another file in this place, which answers within the page.

export const send = (path, options) => fetch(path, options);

/** Whether the page is its own service. */
export const isPage = false;

/** Where lands are made: the service decides. */
export const devices = null;
