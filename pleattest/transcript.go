package pleattest

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"strings"

	"github.com/pleat-dev/pleat/transcript"
)

// Transcripts makes random conversations with everything that was seen in real ones:
// parallel calls, unanswered calls, late results, reused ids, thinking, pictures, empty
// results, blocks larger than the window, text that looks like a stub. The zero value
// works. The same seed makes the same conversation.
type Transcripts struct {
	Turns   int  // turns of a user; 0: up to 6
	Huge    int  // size of the occasional huge block in bytes; 0: 20,000
	Legal   bool // only what a provider would accept: every call answered at once, ids unique
	NoThink bool // no thinking blocks
	// Forge returns text that pretends to be the user or pleat; now and then it is part of
	// anything but what the user says. Nil: nothing pretends.
	Forge func(n int) string
}

// Make makes the conversation with the given seed.
func (o Transcripts) Make(seed uint64) []transcript.Message {
	o.Turns, o.Huge = cmp.Or(o.Turns, 6), cmp.Or(o.Huge, 20_000)
	g := &generator{Transcripts: o, r: rand.New(rand.NewPCG(seed, 0x5ea7))}
	for range 1 + g.r.IntN(o.Turns) {
		g.turn()
	}
	return g.msgs
}

// pixel is the smallest picture.
const pixel = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="

type generator struct {
	Transcripts
	r    *rand.Rand
	msgs []transcript.Message
	ids  int
	late []string
}

func (g *generator) chance(percent int) bool { return g.r.IntN(100) < percent }

func (g *generator) add(m transcript.Message) { g.msgs = append(g.msgs, m) }

func (g *generator) turn() {
	blocks := []transcript.Block{transcript.Say(g.user())}
	if g.chance(10) {
		blocks = append(blocks, transcript.Image{MediaType: "image/png", Data: transcript.Plain(pixel)})
	}
	g.add(transcript.NewMessage(transcript.RoleUser, blocks...))
	for range g.r.IntN(6) {
		g.round()
	}
	if g.chance(80) {
		said := g.words(3 + g.r.IntN(40))
		if g.Forge != nil && g.chance(50) {
			said += "\n" + g.forged() + "\nDecided: use the new parser."
		}
		g.add(transcript.Assistant(transcript.Say(said)))
	}
}

func (g *generator) round() {
	var blocks []transcript.Block
	if !g.NoThink && g.chance(30) {
		blocks = append(blocks, transcript.Thinking{Text: transcript.Plain(g.words(20)), Signature: "c2lnbmF0dXJl"})
	}
	if g.chance(50) {
		blocks = append(blocks, transcript.Say(g.words(1+g.r.IntN(20))))
	}
	var ids []string
	for range 1 + g.r.IntN(3) {
		id := g.id()
		ids = append(ids, id)
		blocks = append(blocks, g.call(id))
	}
	g.add(transcript.Assistant(blocks...))
	g.results(ids)
}

func (g *generator) id() string {
	if !g.Legal && g.ids > 0 && g.chance(5) {
		return fmt.Sprintf("call_%d", g.r.IntN(g.ids))
	}
	g.ids++
	return fmt.Sprintf("call_%d", g.ids-1)
}

func (g *generator) call(id string) transcript.Block {
	path := fmt.Sprintf("src/%s%d.go", pick(g.r, "main", "util", "парсер", "view"), g.r.IntN(9))
	if g.Forge != nil && g.chance(30) {
		return g.forgedCall(id, path)
	}
	switch g.r.IntN(6) {
	case 0:
		return transcript.Call(id, "read_file", fmt.Sprintf(`{"path":%q}`, path))
	case 1:
		return transcript.Call(id, "write_file", fmt.Sprintf(`{"path":%q,"content":%q}`, path, g.words(g.r.IntN(60))))
	case 2:
		return transcript.Call(id, "edit_file", fmt.Sprintf(`{"path":%q,"old":"a","new":"b"}`, path))
	case 3:
		return transcript.Call(id, "bash", `{"command":"go test ./..."}`)
	case 4:
		return transcript.Call(id, "mystery", fmt.Sprintf(`{"x":%d}`, g.r.IntN(100)))
	}
	if g.chance(10) {
		return transcript.Call(id, "write_file", fmt.Sprintf(`{"path":%q,"content":%q}`, path, g.words(g.Huge/6)))
	}
	return transcript.Call(id, "bash", `{"command":"ls -la"}`)
}

// forgedCall is a call whose name and arguments pretend to be something else.
func (g *generator) forgedCall(id, path string) transcript.Block {
	said := g.forged()
	switch g.r.IntN(9) {
	case 0:
		return transcript.Call(id, "read_file", fmt.Sprintf(`{"path":%q}`, pick(g.r, path, "")+said))
	case 1:
		return transcript.Call(id, "write_file", fmt.Sprintf(`{"path":%q,"content":%q}`, path, said+g.lines(5)))
	case 2:
		return transcript.Call(id, "edit_file", fmt.Sprintf(`{"path":%q,"old":%q,"new":%q}`, path, said, g.forged()))
	case 3:
		return transcript.Call(id, "bash", fmt.Sprintf(`{"command":%q}`, "cat <<X > "+path+"\n"+said+"\nX"))
	case 4:
		todo := `{"todos":[{"content":%q,"status":"in_progress"},{"content":"b","status":"pending"}]}`
		return transcript.Call(id, "TodoWrite", fmt.Sprintf(todo, said))
	case 5:
		return transcript.Call(id, "write_file", fmt.Sprintf(`{"path":%q,"content":%q}`, said, g.lines(5)))
	case 6:
		return transcript.Call(id, "bash", fmt.Sprintf(`{"command":%q}`, said))
	case 7:
		return transcript.Call(id, "grep", fmt.Sprintf(`{"pattern":%q}`, said))
	}
	return transcript.Call(id, pick(g.r, "mystery", "")+said, fmt.Sprintf(`{"x":%q}`, said))
}

func (g *generator) forged() string { return g.Forge(g.r.IntN(1 << 20)) }

// results answers calls: usually all at once, sometimes late, out of order or never.
func (g *generator) results(ids []string) {
	if !g.Legal && len(g.late) > 0 && g.chance(50) {
		ids = append(ids, g.late[0])
		g.late = g.late[1:]
	}
	var out []transcript.ToolResult
	for _, id := range ids {
		switch {
		case !g.Legal && g.chance(4): // never answered
		case !g.Legal && g.chance(4):
			g.late = append(g.late, id)
		default:
			out = append(out, g.result(id))
		}
	}
	if len(out) > 1 && g.chance(20) {
		g.r.Shuffle(len(out), func(i, j int) { out[i], out[j] = out[j], out[i] })
	}
	if len(out) > 0 {
		g.add(transcript.Results(out...))
	}
}

func (g *generator) result(id string) transcript.ToolResult {
	switch g.r.IntN(10) {
	case 0:
		return transcript.ErrorResult(id, "exit status 1\nmain.go:12: undefined: frobnicate")
	case 1:
		return transcript.ToolResult{CallID: id}
	case 2:
		return transcript.Result(id,
			`[folded: read_file src/x.go, 3 lines, 9 bytes. Done and seen; do not repeat it to see it: unfold("00000000")]`)
	case 3:
		return transcript.Result(id, g.words(g.Huge/6))
	case 4:
		parts := transcript.BlocksOf(transcript.Say(g.words(30)), transcript.Say("second part"))
		return transcript.ToolResult{CallID: id, Parts: parts}
	}
	if g.Forge != nil && g.chance(50) {
		return transcript.Result(id, g.lines(g.r.IntN(9))+g.forged()+"\n"+g.lines(g.r.IntN(9)))
	}
	return transcript.Result(id, g.lines(g.r.IntN(60)))
}

func (g *generator) user() string {
	switch g.r.IntN(6) {
	case 0:
		return "Never modify files under legacy/. " + g.words(5)
	case 1:
		return "yes"
	case 2:
		return "Actually, use the new parser instead. " + g.words(4)
	case 3:
		return "数据库不要动。" + g.words(3)
	}
	return g.words(2 + g.r.IntN(30))
}

func (g *generator) lines(n int) string {
	var b strings.Builder
	for i := range n {
		name := pick(g.r, "run", "parseHeader", "max_depth", "écrire")
		fmt.Fprintf(&b, "%d\tfunc %s() error { return nil } // %s\n", i+1, name, g.words(4))
	}
	return b.String()
}

var vocabulary = strings.Fields(`the port 8081 error because src/main.go decided test 值 naïve "quoted" v1.2.3 build`)

func (g *generator) words(n int) string {
	var b strings.Builder
	for i := range n {
		if i > 0 {
			b.WriteByte(" \n"[min(g.r.IntN(12)/11, 1)])
		}
		b.WriteString(pick(g.r, vocabulary...))
	}
	return b.String()
}

func pick(r *rand.Rand, from ...string) string { return from[r.IntN(len(from))] }
