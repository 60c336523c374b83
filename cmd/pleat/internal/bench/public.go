package bench

import (
	"cmp"
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"

	"github.com/pleat-dev/pleat/cmd/pleat/internal/term"
	"github.com/pleat-dev/pleat/transcript"
)

// PublicFile is a public session file that others can get: where it is from, and what it
// must be.
type PublicFile struct {
	Path       string `json:"path"`       // in the folder that it is fetched into
	Repository string `json:"repository"` // owner/name on GitHub
	Commit     string `json:"commit"`     // that has it
	Blob       string `json:"blob"`       // git's id of its content
	SHA256     string `json:"sha256"`
	Bytes      int64  `json:"bytes"`
	Licence    string `json:"licence"`
}

//go:embed corpus.json
var corpusJSON []byte

// PublicCorpus lists the public sessions that the bench's published figures are from, and those that
// its own questions ask about.
func PublicCorpus() (files, asked []PublicFile) {
	var list struct{ Files, Asked []PublicFile }
	if err := json.Unmarshal(corpusJSON, &list); err != nil {
		panic("bench: corpus.json: " + err.Error()) // it is part of the program
	}
	return list.Files, list.Asked
}

// github is where public files are fetched from.
const github = "https://api.github.com"

// Fetcher gets public files. The zero value works.
type Fetcher struct {
	Base string // of a server that speaks GitHub's API; empty: GitHub
	// Progress is told of every file: whether it was there already. Nil: nobody.
	Progress func(f PublicFile, had bool)
}

// Fetch gets the files into a folder. What is there and has the right hash stays; what
// comes with another hash is an error and is not kept.
func (f Fetcher) Fetch(ctx context.Context, dir string, files []PublicFile) error {
	for _, file := range files {
		name := filepath.Join(dir, filepath.FromSlash(file.Path))
		data, err := os.ReadFile(name)
		had := err == nil && transcript.HashOf(data).String() == file.SHA256
		if !had {
			if err := f.get(ctx, name, file); err != nil {
				return fmt.Errorf("fetch %s of %s: %w", file.Path, file.Repository, err)
			}
		}
		if f.Progress != nil {
			f.Progress(file, had)
		}
	}
	return nil
}

func (f Fetcher) get(ctx context.Context, name string, file PublicFile) error {
	url := cmp.Or(f.Base, github) + "/repos/" + file.Repository + "/git/blobs/" + file.Blob
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return err
	}
	req.Header.Set("Accept", "application/vnd.github.raw+json")
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	data, err := io.ReadAll(io.LimitReader(resp.Body, file.Bytes+1))
	if err != nil {
		return err
	}
	switch {
	case resp.StatusCode == http.StatusForbidden || resp.StatusCode == http.StatusTooManyRequests:
		return fmt.Errorf("the server says %s: wait an hour and run it again, what was fetched is kept", resp.Status)
	case resp.StatusCode != http.StatusOK:
		return fmt.Errorf("the server says %s", resp.Status)
	case transcript.HashOf(data).String() != file.SHA256:
		return errors.New("what came has another hash: it is not kept")
	}
	return term.WriteIn(name, data)
}
