package sessionlog_test

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/pleat-dev/pleat/internal/corpustest"
	"github.com/pleat-dev/pleat/internal/difftest"
	"github.com/pleat-dev/pleat/sessionlog"
	"github.com/pleat-dev/pleat/transcript"
)

var update = flag.Bool("update", false, "write what is read to the golden files")

// dump writes a log the way the golden files have it.
func dump(tb testing.TB, data []byte, opts *sessionlog.Options) string {
	tb.Helper()
	log, err := sessionlog.Open(bytes.NewReader(data), opts)
	if err != nil {
		return "open: " + err.Error() + "\n"
	}
	var sb strings.Builder
	n := 0
	for rec, err := range log.Records() {
		if err != nil {
			fmt.Fprintf(&sb, "error: %v\n", err)
			break
		}
		dumpRecord(&sb, n, rec)
		n++
	}
	dumpInfo(&sb, log)
	return sb.String()
}

var origins = [...]string{"", " typed", " injected", " summary"}

func dumpRecord(sb *strings.Builder, n int, r sessionlog.Record) {
	fmt.Fprintf(sb, "%d line %d %s%s", n, r.Line, r.Message.Role(), origins[r.Message.Origin()])
	if f := r.Message.Format(); f != "" {
		fmt.Fprintf(sb, " (%s)", f)
	}
	if !r.Time.IsZero() {
		fmt.Fprintf(sb, " %s", r.Time.Format("15:04:05.999"))
	}
	if r.Model != "" {
		fmt.Fprintf(sb, " by %s", r.Model)
	}
	if r.Usage != nil {
		fmt.Fprintf(sb, " usage %v", *r.Usage)
	}
	for i, on := range []bool{r.Sidechain, r.Abandoned} {
		if on {
			sb.WriteString([]string{" sidechain", " abandoned"}[i])
		}
	}
	sb.WriteByte('\n')
	for _, b := range r.Message.Blocks().All() {
		switch b := b.(type) {
		case transcript.Text:
			fmt.Fprintf(sb, "  text %q\n", b.Text.String())
		case transcript.Thinking:
			fmt.Fprintf(sb, "  thinking %q signed %q redacted %v\n", b.Text.String(), b.Signature, b.Redacted)
		case transcript.ToolCall:
			fmt.Fprintf(sb, "  call %s %s %s\n", b.ID, b.Name, b.Input.String())
		case transcript.ToolResult:
			fmt.Fprintf(sb, "  result %s error %v %q\n", b.CallID, b.Error, b.Text())
		case transcript.Image:
			fmt.Fprintf(sb, "  image %s %s %s\n", b.MediaType, b.Data.String(), b.URL)
		case transcript.Opaque:
			fmt.Fprintf(sb, "  opaque %s %s\n", b.Type, b.Raw)
		}
	}
}

func dumpInfo(sb *strings.Builder, log *sessionlog.Log) {
	i := log.Info()
	fmt.Fprintf(sb, "%s, %d sessions\nagent %q %q session %q title %q dir %q model %q system %q\n",
		i.Format, log.Sessions(), i.Agent, i.Version, i.SessionID, i.Title, i.Dir, i.Model, i.System)
	for _, t := range i.Tools {
		fmt.Fprintf(sb, "tool %s %s\n", t.Name, t.Schema)
	}
	for _, c := range i.Compactions {
		fmt.Fprintf(sb, "compaction %+v\n", c)
	}
	fmt.Fprintf(sb, "sidechain %d abandoned %d damaged %d\n", i.Sidechain, i.Abandoned, i.Damaged)
	for _, d := range i.Damage {
		fmt.Fprintf(sb, "damage %v\n", d)
	}
}

func fixtures(tb testing.TB) map[string][]byte {
	tb.Helper()
	files, err := filepath.Glob("testdata/*.log")
	if err != nil || len(files) == 0 {
		tb.Fatalf("no fixtures: %v", err)
	}
	all := make(map[string][]byte)
	for _, file := range files {
		data, err := os.ReadFile(file)
		must(tb, err)
		all[strings.TrimSuffix(filepath.Base(file), ".log")] = data
	}
	return all
}

// TestFormats reads one made-up session of each format, in every way there is.
func TestFormats(t *testing.T) {
	for name, data := range fixtures(t) {
		t.Run(name, func(t *testing.T) {
			got := dump(t, data, nil)
			if all := dump(t, data, &sessionlog.Options{Sidechains: true, Abandoned: true}); all != got {
				got += "\n== with sidechains and abandoned branches ==\n" + all
			}
			if strings.Contains(got, ", 2 sessions") {
				got += "\n== the second session ==\n" + dump(t, data, &sessionlog.Options{Session: 1})
			}
			file := filepath.Join("testdata", name+".golden")
			if *update {
				must(t, os.WriteFile(file, []byte(got), 0o644))
			}
			want, err := os.ReadFile(file)
			must(t, err)
			if d := difftest.Values(string(want), got); d != "" {
				t.Errorf("- want, + got (run with -update to accept):\n%s", d)
			}
			if again := dump(t, data, nil); !strings.HasPrefix(got, again) {
				t.Error("reading twice gives two results")
			}
		})
	}
}

// Wire messages keep bytes that are the element they were.
func TestRawIsTheElement(t *testing.T) {
	for name, data := range fixtures(t) {
		log, err := sessionlog.Open(bytes.NewReader(data), nil)
		must(t, err)
		for rec, err := range log.Records() {
			must(t, err)
			m := rec.Message
			if m.Format() == transcript.FormatNone {
				continue
			}
			for _, b := range m.Blocks().All() {
				raw := ""
				switch b := b.(type) {
				case transcript.Text:
					raw = b.Raw
				case transcript.ToolCall:
					raw = b.Raw
				case transcript.ToolResult:
					raw = b.Raw
				case transcript.Thinking:
					raw = b.Raw
				}
				if !strings.Contains(m.Raw(), raw) {
					t.Errorf("%s line %d: block %q is not part of message %q", name, rec.Line, raw, m.Raw())
				}
			}
		}
	}
}

// Newer versions of Codex report usage after the results of an answer's calls, and repeat the
// newest report when something else changes.
func TestCodexUsage(t *testing.T) {
	report := func(total, last int) string {
		return fmt.Sprintf(
			`{"type":"event_msg","payload":{"type":"token_count","info":{"total_token_usage":{"total_tokens":%d},"last_token_usage":{"input_tokens":%d,"cached_input_tokens":10,"output_tokens":5},"model_context_window":258400}}}`,
			total, last,
		)
	}
	text := strings.Join([]string{
		`{"type":"session_meta","payload":{"id":"s","cwd":"/w"}}`,
		`{"type":"response_item","payload":{"type":"message","role":"user","content":[{"type":"input_text","text":"go"}]}}`,
		`{"type":"response_item","payload":{"type":"function_call","call_id":"a","name":"shell","arguments":"{}"}}`,
		`{"type":"response_item","payload":{"type":"function_call","call_id":"b","name":"shell","arguments":"{}"}}`,
		`{"type":"response_item","payload":{"type":"function_call_output","call_id":"a","output":"x"}}`,
		`{"type":"response_item","payload":{"type":"function_call_output","call_id":"b","output":"y"}}`,
		report(100, 100), report(100, 100),
		`{"type":"response_item","payload":{"type":"message","role":"assistant","content":[{"type":"output_text","text":"done"}]}}`,
		report(100, 100), report(300, 200),
	}, "\n")
	log, err := sessionlog.Open(strings.NewReader(text), nil)
	must(t, err)
	var got []int
	for rec, err := range log.Records() {
		must(t, err)
		if u := rec.Usage; u != nil {
			got = append(got, rec.Line, u.Prompt())
		}
	}
	if want := []int{4, 100, 9, 200}; !slices.Equal(got, want) || log.Info().Window != 258400 {
		t.Errorf("lines and prompts %v, want %v; window %d", got, want, log.Info().Window)
	}
}

var must = difftest.Must

// TestCorpus reads every session file of the corpus strictly, by the format that its folder
// names: every result has its call before it, and what the conversation leaves out was abandoned.
// (TestViewHashesCorpus at the root holds every message to recorded hashes.)
func TestCorpus(t *testing.T) {
	for _, path := range corpustest.Files(t) {
		data, err := os.ReadFile(path)
		must(t, err)
		format, err := sessionlog.Detect(bytes.NewReader(data))
		if err != nil || !strings.Contains(path, string(filepath.Separator)+string(format)+string(filepath.Separator)) {
			t.Errorf("%s: format %q, %v", path, format, err)
		}
		for session, sessions := 0, 1; session < sessions; session++ {
			opts := sessionlog.Options{Session: session, Strict: true}
			var said int
			said, sessions = readCorpus(t, path, data, opts)
			opts.Abandoned = true
			all, _ := readCorpus(t, path, data, opts)
			t.Logf("%s, session %d: %d messages, %d abandoned", path, session, said, all-said)
		}
	}
}

// readCorpus returns how many messages a session of a file has, and how many sessions the file.
func readCorpus(t *testing.T, path string, data []byte, opts sessionlog.Options) (messages, sessions int) {
	t.Helper()
	log, err := sessionlog.Open(bytes.NewReader(data), &opts)
	if err != nil {
		t.Fatalf("%s: %v", path, err)
	}
	tr, abandoned := transcript.NewTranscript(), 0
	for rec, err := range log.Records() {
		if err != nil {
			t.Fatalf("%s: %v", path, err)
		}
		if rec.Abandoned {
			abandoned++
		}
		tr.Append(rec.Message)
	}
	if o := tr.Orphans(); len(o) > 0 {
		t.Errorf("%s: %d results answer no call before them", path, len(o))
	}
	if opts.Abandoned && abandoned != log.Info().Abandoned {
		t.Errorf("%s: %d messages are abandoned, the log says %d", path, abandoned, log.Info().Abandoned)
	}
	return tr.Len(), log.Sessions()
}
