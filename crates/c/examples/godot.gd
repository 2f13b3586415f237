# Asks a running `thalweg serve` for a land and reads its heights, in metres:
#
#     thalweg serve &
#     godot --no-window -s godot.gd
#
# It speaks HTTP and needs no library. It was run with Godot 3.2.3 (`godot3-server`). It keeps to
# classes and calls that Godot 4 has under the same names, but was not run there.
extends SceneTree

const HOST = "127.0.0.1"
const PORT = 7373
const RECIPE = """
schema = 2
seed = 5
width = 256
height = 256
spacing_m = 20
[[stage]]
kind = "diamond_square"
relief_m = 900
[[stage]]
kind = "droplets"
[output]
maps = ["height"]
"""

var client = HTTPClient.new()


# Sends a request and waits for the bytes of its answer.
func ask(method, path, headers, body):
	client.request(method, path, headers, body)
	while client.get_status() == HTTPClient.STATUS_REQUESTING:
		client.poll()
		OS.delay_msec(5)
	var answer = StreamPeerBuffer.new()
	while client.get_status() == HTTPClient.STATUS_BODY:
		client.poll()
		var chunk = client.read_response_body_chunk()
		if chunk.size() == 0:
			OS.delay_msec(5)
		else:
			answer.put_data(chunk)
	return answer


# The first part of a text that a pattern has in parentheses.
func find(text, pattern):
	var regex = RegEx.new()
	regex.compile(pattern)
	var found = regex.search(text)
	return found.get_string(1) if found else ""


func text_of(answer):
	return answer.data_array.get_string_from_utf8()


func _init():
	client.connect_to_host(HOST, PORT)
	while client.get_status() in [HTTPClient.STATUS_RESOLVING, HTTPClient.STATUS_CONNECTING]:
		client.poll()
		OS.delay_msec(5)
	if client.get_status() != HTTPClient.STATUS_CONNECTED:
		print("no thalweg serve at ", HOST, ":", PORT)
		quit()
		return
	var headers = ["Content-Type: application/toml"]
	var job = text_of(ask(HTTPClient.METHOD_POST, "/v1/jobs", headers, RECIPE))
	var id = find(job, '"id":"([^"]+)"')
	while find(job, '"state":"(queued|running)"') != "":
		OS.delay_msec(200)
		job = text_of(ask(HTTPClient.METHOD_GET, "/v1/jobs/" + id, [], ""))
	if find(job, '"state":"(succeeded)"') == "":
		print(job)
		quit()
		return
	var result = find(job, '"href":"(/v1/results/[^/"]+/)')
	var raw = ask(HTTPClient.METHOD_GET, result + "fields/height.r32", [], "")
	raw.seek(0)
	var lowest = INF
	var highest = -INF
	for _i in range(raw.get_size() / 4):
		var metres = raw.get_float()
		lowest = min(lowest, metres)
		highest = max(highest, metres)
	print(raw.get_size() / 4, " heights, ", lowest, " to ", highest, " m")
	quit()
