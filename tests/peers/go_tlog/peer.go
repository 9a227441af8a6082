// A verifier of logs of parts that are not ours: note and tlog of Go's checksum database.
// Reads one JSON object per line, writes one per line.
package main

import (
	"bufio"
	"crypto/ed25519"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"os"
	"strings"

	"golang.org/x/mod/sumdb/note"
	"golang.org/x/mod/sumdb/tlog"
)

// request has what an operation needs of these.
type request struct {
	Operation, VKey, Text  string
	Witness                string
	Note, Entry            []byte
	Size, Index, Old       int64
	Root, OldRoot          tlog.Hash
	RecordProof, TreeProof []tlog.Hash
	Tiles                  map[string][]byte
}

// tiles are those of a tree, by their addresses below a log's.
type tiles map[string][]byte

func (tiles) Height() int                     { return 8 }
func (tiles) SaveTiles([]tlog.Tile, [][]byte) {}

func (has tiles) ReadTiles(wanted []tlog.Tile) ([][]byte, error) {
	var found [][]byte
	for _, tile := range wanted {
		// tlog names the height, too.
		content, ok := has[strings.Replace(tile.Path(), "tile/8/", "tile/", 1)]
		if !ok {
			return nil, fmt.Errorf("no tile %s", tile.Path())
		}
		found = append(found, content)
	}
	return found, nil
}

// witness checks cosignatures (C2SP, tlog-cosignature), which note leaves to verifiers of others.
type witness struct {
	name string
	key  ed25519.PublicKey
}

func newWitness(vkey string) (*witness, error) {
	parts := strings.SplitN(vkey, "+", 3)
	if len(parts) != 3 {
		return nil, fmt.Errorf("no key: %q", vkey)
	}
	key, err := base64.StdEncoding.DecodeString(parts[2])
	if err != nil || len(key) != 1+ed25519.PublicKeySize || key[0] != 4 {
		return nil, fmt.Errorf("no key of a witness: %q", vkey)
	}
	found := &witness{parts[0], key[1:]}
	if fmt.Sprintf("%08x", found.KeyHash()) != parts[1] {
		return nil, fmt.Errorf("the key's identifier is not its own: %q", vkey)
	}
	return found, nil
}

func (w *witness) Name() string { return w.name }

func (w *witness) KeyHash() uint32 {
	hash := sha256.Sum256(append([]byte(w.name+"\n\x04"), w.key...))
	return binary.BigEndian.Uint32(hash[:])
}

func (w *witness) Verify(text, signature []byte) bool {
	if len(signature) != 8+ed25519.SignatureSize {
		return false
	}
	signed := fmt.Sprintf("cosignature/v1\ntime %d\n%s", binary.BigEndian.Uint64(signature), text)
	return ed25519.Verify(w.key, []byte(signed), signature[8:])
}

func answer(asked request) (map[string]any, error) {
	switch asked.Operation {
	case "open":
		key, err := note.NewVerifier(asked.VKey)
		if err != nil {
			return nil, err
		}
		opened, err := note.Open(asked.Note, note.VerifierList(key))
		if err != nil {
			return nil, err
		}
		// The checksum database's checkpoints have one fixed name.
		origin, rest, _ := strings.Cut(opened.Text, "\n")
		tree, err := tlog.ParseTree([]byte("go.sum database tree\n" + rest))
		return map[string]any{"origin": origin, "size": tree.N, "root": tree.Hash}, err
	case "cosigned":
		log, err := note.NewVerifier(asked.VKey)
		if err != nil {
			return nil, err
		}
		seen, err := newWitness(asked.Witness)
		if err != nil {
			return nil, err
		}
		opened, err := note.Open(asked.Note, note.VerifierList(log, seen))
		if err != nil {
			return nil, err
		}
		names := []string{}
		for _, signature := range opened.Sigs {
			names = append(names, signature.Name)
		}
		return map[string]any{"signed": names}, nil
	case "sign":
		private, public, err := note.GenerateKey(rand.Reader, "log.elsewhere")
		if err != nil {
			return nil, err
		}
		signer, err := note.NewSigner(private)
		if err != nil {
			return nil, err
		}
		signed, err := note.Sign(&note.Note{Text: asked.Text}, signer)
		return map[string]any{"vkey": public, "note": signed}, err
	case "record":
		hash := tlog.RecordHash(asked.Entry)
		return map[string]any{}, tlog.CheckRecord(asked.RecordProof, asked.Size, asked.Root, asked.Index, hash)
	case "tree":
		return map[string]any{}, tlog.CheckTree(asked.TreeProof, asked.Size, asked.Root, asked.Old, asked.OldRoot)
	case "prove":
		read := tlog.TileHashReader(tlog.Tree{N: asked.Size, Hash: asked.Root}, tiles(asked.Tiles))
		record, err := tlog.ProveRecord(asked.Size, asked.Index, read)
		if err != nil {
			return nil, err
		}
		tree, err := tlog.ProveTree(asked.Size, asked.Old, read)
		return map[string]any{"record": record, "tree": tree}, err
	}
	return nil, fmt.Errorf("no operation %q", asked.Operation)
}

func main() {
	lines := bufio.NewReader(os.Stdin)
	for {
		line, err := lines.ReadBytes('\n')
		if err != nil {
			return
		}
		var asked request
		var answered map[string]any
		if err = json.Unmarshal(line, &asked); err == nil {
			answered, err = answer(asked)
		}
		if err != nil {
			answered = map[string]any{"error": err.Error()}
		}
		written, _ := json.Marshal(answered)
		fmt.Println(string(written))
	}
}
