// Package bpetest makes the texts that token counting is tested and measured
// with. They are the same in every run on the same toolchain.
//
// Prose and code come from the standard library of the Go installation, being
// real text that every developer has: its comments and the rest of it.
package bpetest

import (
	"encoding/json"
	"fmt"
	"go/build"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
)

// Prose returns n bytes of English.
func Prose(n int) string { return fill(n, source().prose) }

// Code returns n bytes of Go source with its comments.
func Code(n int) string { return fill(n, source().code) }

// JSON returns n bytes of messages as agents send them: prose and tool results
// as JSON strings, with ids, numbers and nesting around them.
func JSON(n int) string {
	rng := newRand(3)
	prose, code := Prose(n), Code(n)
	cut := func(s string, most int) string {
		at := rng.IntN(max(1, len(s)-most))
		return strings.ToValidUTF8(s[at:min(len(s), at+1+rng.IntN(most))], "")
	}
	var b strings.Builder
	for id := 0; b.Len() < n; id++ {
		call := fmt.Sprintf("call_%016x", rng.Uint64())
		line, _ := json.Marshal(map[string]any{
			"role": []string{"user", "assistant", "tool"}[id%3],
			"content": []any{
				map[string]any{"type": "text", "text": cut(prose, 600)},
				map[string]any{
					"type": "tool_use", "id": call, "name": "read_file",
					"input": map[string]any{
						"path": fmt.Sprintf("src/pkg%d/file_%d.go", id%7, id), "limit": rng.IntN(4000),
					},
				},
				map[string]any{
					"type": "tool_result", "tool_use_id": call, "is_error": false, "content": cut(code, 2000),
				},
			},
			"usage": map[string]any{
				"input_tokens": rng.IntN(200000), "output_tokens": rng.IntN(4000), "cost": rng.Float64(),
			},
		})
		b.Write(line)
		b.WriteByte('\n')
	}
	return fill(n, b.String())
}

// Mixed returns n bytes of prose, code and JSON in equal parts, in blocks of a
// few kilobytes.
func Mixed(n int) string {
	part := n/3 + 1
	kinds := []string{Prose(part), Code(part), JSON(part)}
	const block = 4096
	var b strings.Builder
	for at := 0; at < part; at += block {
		for _, text := range kinds {
			b.WriteString(text[min(at, len(text)):min(at+block, len(text))])
		}
	}
	return fill(n, b.String())
}

// CJK returns n bytes of Chinese and Japanese characters in sentences, common
// ones more often than rare ones.
func CJK(n int) string {
	rng := newRand(4)
	zipf := rand.NewZipf(rng, 1.1, 8, 0x51FF)
	var b strings.Builder
	for b.Len() < n {
		for range 4 + rng.IntN(20) {
			if rng.IntN(6) == 0 {
				b.WriteRune(0x3042 + rune(rng.IntN(80)))
			} else {
				// An odd factor spreads the common ones over the block.
				b.WriteRune(0x4E00 + rune(zipf.Uint64()*2137%0x5200))
			}
		}
		b.WriteString([]string{"，", "。", "、", "。\n"}[rng.IntN(4)])
	}
	return fill(n, b.String())
}

func newRand(seed uint64) *rand.Rand { return rand.New(rand.NewPCG(seed, seed)) }

// fill returns n bytes of text, repeating it if it is too short. It may cut the
// last character; counting must not mind.
func fill(n int, text string) string {
	for len(text) < n {
		text += text
	}
	return text[:n]
}

type texts struct{ prose, code string }

// source reads a few megabytes of the standard library once.
var source = sync.OnceValue(func() texts {
	files, _ := filepath.Glob(filepath.Join(build.Default.GOROOT, "src", "*", "*.go"))
	more, _ := filepath.Glob(filepath.Join(build.Default.GOROOT, "src", "*", "*", "*.go"))
	files = append(files, more...)
	slices.Sort(files)
	newRand(1).Shuffle(len(files), func(i, j int) { files[i], files[j] = files[j], files[i] })

	var prose, code strings.Builder
	for _, name := range files {
		if prose.Len() > 4<<20 && code.Len() > 4<<20 {
			break
		}
		text, err := os.ReadFile(name)
		if err != nil || strings.Contains(name, "table") || len(text) > 200<<10 {
			continue
		}
		code.Write(text)
		for line := range strings.Lines(string(text)) {
			if comment, ok := strings.CutPrefix(strings.TrimLeft(line, "\t"), "// "); ok {
				prose.WriteString(comment)
			}
		}
	}
	if prose.Len() < 1<<16 {
		panic("bpetest: there is no standard library in " + build.Default.GOROOT)
	}
	return texts{prose.String(), code.String()}
})
