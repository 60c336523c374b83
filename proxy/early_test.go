package proxy

import (
	"io"
	"net/http"
	"strings"
	"testing"
)

// An upstream may answer before it has read the request, and the answer is complete. The
// transport reads the rest of the request while the client already gets its reply.
func TestAnswerBeforeTheBodyIsRead(t *testing.T) {
	answer := strings.Repeat("an answer of the provider ", 40)
	up := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("X-Early") != "" {
			_ = http.NewResponseController(w).EnableFullDuplex()
			_, _ = io.WriteString(w, answer[:10])
			w.(http.Flusher).Flush()
		}
		n, err := io.Copy(io.Discard, r.Body)
		if err != nil || n != int64(len(answer)) {
			t.Errorf("%s: the provider got %d bytes: %v", r.URL.Path, n, err)
		}
		if r.Header.Get("X-Early") != "" {
			_, _ = io.WriteString(w, answer[10:])
			return
		}
		_, _ = io.WriteString(w, answer)
	})
	url := start(t, up, Options{})
	paths := []string{
		"/v1/embeddings", "/v1/files", "/v1/messages/batches", "/v1/user_profiles", "/v1beta/cachedContents",
	}
	methods := []string{http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete}
	lost := 0
	for i := range 2000 {
		path, method := paths[i%len(paths)], methods[i/len(paths)%len(methods)]
		var body io.Reader = strings.NewReader(answer)
		if i%3 == 0 {
			body = io.NopCloser(body) // no length: in chunks
		}
		req, _ := http.NewRequest(method, url+path, body)
		req.Header.Set("Authorization", "Bearer sk-x")
		if i%2 == 0 {
			req.Header.Set("X-Early", "yes")
		}
		resp, err := http.DefaultClient.Do(req)
		must(t, err)
		got, err := io.ReadAll(resp.Body)
		resp.Body.Close()
		if string(got) != answer {
			if lost++; lost < 5 {
				t.Errorf("%s %s: %d of %d bytes: %v", method, path, len(got), len(answer), err)
			}
		}
	}
	if lost > 0 {
		t.Errorf("%d of 2000 answers were cut off", lost)
	}
}
