// Command vocabulary builds the packed vocabulary that package internal/bpe embeds. Run it
// with "go generate" there.
//
// It lives outside of the engine's module so that the source of the vocabulary never becomes
// a dependency of the library.
package main

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"flag"
	"fmt"
	"log"
	"os"
	"path/filepath"

	"github.com/pkoukk/tiktoken-go-loader/assets"
)

// The published rank file and the digest it must have. A new release of the module that
// carries it can therefore not change a token count without someone editing this.
const (
	name       = "o200k_base"
	wantDigest = "446a9538cb6c348e3516120d7c08b09f57c36495e2acfffe59a5bf8b0cfb1a2d"
)

func main() {
	log.SetFlags(0)
	log.SetPrefix("vocabulary: ")
	out := flag.String("out", "../../internal/bpe/vocab", "folder that receives the packed vocabulary")
	flag.Parse()
	if err := write(*out); err != nil {
		log.Fatal(err)
	}
}

func write(folder string) error {
	ranked, err := assets.Assets.ReadFile(name + ".tiktoken")
	if err != nil {
		return fmt.Errorf("read ranks: %w", err)
	}
	digest := sha256.Sum256(ranked)
	if got := hex.EncodeToString(digest[:]); got != wantDigest {
		return fmt.Errorf("check %s: SHA-256 is %s, want %s", name, got, wantDigest)
	}
	packed, err := pack(ranked)
	if err != nil {
		return fmt.Errorf("pack %s: %w", name, err)
	}
	return os.WriteFile(filepath.Join(folder, name+".bin"), packed, 0o644)
}

// pack turns lines of "base64(token) rank" into the form that package bpe
// embeds: for each token in order of rank, one byte of length and then its
// bytes. In the file of that digest the ranks are the line numbers, and no token is
// longer than a byte can say.
func pack(ranked []byte) (packed []byte, err error) {
	for line := range bytes.Lines(ranked) {
		encoded, _, _ := bytes.Cut(line, []byte(" "))
		token, err := base64.StdEncoding.AppendDecode(nil, encoded)
		if err != nil {
			return nil, err
		}
		packed = append(append(packed, byte(len(token))), token...)
	}
	return packed, nil
}
