"""A mock of a provider for the tests of its Python SDKs, and a plugin that lets pytest use it.

python sdks.py PORT LOG serves: a request gets the sample that its X-Mock-Sample header names, or {}, and
leaves a line in LOG. As a plugin it makes the samples from the types that the SDK expects,
and writes the outcome of every test to the file in SDK_OUTCOMES.
"""

import collections.abc, datetime, hashlib, http.client, http.server, importlib, json, os, re, sys, threading, types, typing

# What the proxy changes on purpose (docs/proxy.md), and what differs between any two runs.
FREE = {"accept-encoding", "content-length", "transfer-encoding", "host", "connection", "idempotency-key", "x-stainless-read-timeout", "x-mock-sample"}
NOW = r"20\d\d-\d\d-\d\dT\d\d(:|%3A)\d\d(:|%3A)\d\d(\.\d+)?"
OURS = {"unfold", "search", "ledger", "note", "compact", "pin"}


class Mock(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    samples, lock = {}, threading.Lock()

    def log_message(self, *args): ...

    def body(self):
        if "chunked" not in self.headers.get("Transfer-Encoding", ""):
            return self.rfile.read(int(self.headers.get("Content-Length") or 0))
        out = b""
        while size := int(self.rfile.readline(), 16):
            out += self.rfile.read(size)
            self.rfile.readline()
        self.rfile.readline()
        return out

    def answer(self):
        body = self.body()
        if self.path.startswith("/sample/"):
            self.samples[self.path[8:]] = body
            return self.reply(b"", "text/plain")
        kind = self.headers.get("Content-Type", "")
        if self.path != "/":  # tests that look whether anybody is there
            with self.lock:
                print(said(self.command, self.path, self.headers.items(), body), file=self.server.log, flush=True)
        sample = self.samples.get(self.headers.get("X-Mock-Sample"), b"{}")
        if "json" in kind and b'"stream":true' in body.replace(b" ", b""):
            return self.reply(b"data: " + sample + b"\n\ndata: [DONE]\n\n", "text/event-stream")
        self.reply(sample, "application/json")

    def reply(self, body, kind):
        self.send_response(200)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    do_GET = do_POST = do_PUT = do_PATCH = do_DELETE = do_HEAD = answer


def said(method, path, headers, body):
    """A request as a line that is the same in every run, without the tools that are pleat's."""
    headers = {k.lower(): v for k, v in headers if k.lower() not in FREE}
    if match := re.search(r"boundary=(.+)", headers.get("content-type", "")):
        headers["content-type"], body = "multipart", body.replace(match[1].encode(), b"boundary")
    if b'"tools"' in body:
        try:
            whole = json.loads(body)
            whole["tools"] = [t for t in whole["tools"] if not (t.get("name") or t.get("function", {}).get("name")) in OURS]
            body = json.dumps(whole).encode()
        except (ValueError, TypeError, AttributeError, KeyError):
            pass
    path, body = re.sub(NOW, "NOW", path), re.sub(NOW.encode(), b"NOW", body)
    return json.dumps([method, path, hashlib.sha256(body).hexdigest(), headers], sort_keys=True)


def sample(kind, depth=0):
    """A JSON value that a type of the SDK takes: the required fields, of unions the first kind."""
    if hasattr(kind, "__value__"):
        kind = kind.__value__
    origin, args = typing.get_origin(kind), typing.get_args(kind)
    if origin is typing.Annotated:
        return sample(args[0], depth)
    if origin is typing.Literal:
        return args[0]
    if origin in (typing.Union, types.UnionType):
        return None if type(None) in args else sample(args[0], depth)
    if origin in (list, collections.abc.Sequence, collections.abc.Iterable):
        return [sample(args[0], depth + 1)] if depth < 5 else []
    if isinstance(kind, type) and hasattr(kind, "model_fields"):
        return {f.alias or n: sample(f.annotation, depth + 1) for n, f in kind.model_fields.items() if f.is_required()}
    if kind in (datetime.datetime, datetime.date):
        return "2020-01-01T00:00:00Z" if kind is datetime.datetime else "2020-01-01"
    return {str: "text", int: 1, float: 1.5, bool: True}.get(kind, {})


def pytest_configure(config):
    base = importlib.import_module(os.environ["SDK"] + "._base_client")
    known = set()

    def named(request):
        def wrapped(self, cast_to, options, **more):
            if str(self.base_url).startswith(os.environ["TEST_API_BASE_URL"]):
                text = json.dumps(sample(cast_to))
                name = hashlib.sha256(text.encode()).hexdigest()[:16]
                if name not in known:
                    direct = http.client.HTTPConnection(os.environ["SDK_MOCK"])
                    direct.request("PUT", "/sample/" + name, text)
                    direct.getresponse().read()
                    direct.close()
                    known.add(name)
                given = options.headers if isinstance(options.headers, collections.abc.Mapping) else {}
                options.headers = {**given, "X-Mock-Sample": name}
            return request(self, cast_to, options, **more)

        return wrapped

    for client in (base.SyncAPIClient, base.AsyncAPIClient):
        client.request = named(client.request)


def pytest_runtest_logreport(report):
    if "PYTEST_XDIST_WORKER" not in os.environ and (report.when == "call" or report.outcome != "passed"):
        with open(os.environ["SDK_OUTCOMES"], "a") as out:
            print(report.nodeid, report.outcome, file=out)


if __name__ == "__main__":
    server = http.server.ThreadingHTTPServer(("127.0.0.1", int(sys.argv[1])), Mock)
    server.log = open(sys.argv[2], "w")
    print(server.server_address[1], flush=True)
    server.serve_forever()
