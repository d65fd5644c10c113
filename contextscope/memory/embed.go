package memory

import (
	"context"
	"database/sql"
	"encoding/binary"
	"fmt"
	"math"
	"slices"
	"time"
)

// Embedder turns texts into vectors, so that notes are found by meaning too.
type Embedder interface {
	// Name says which model with which settings this is; vectors of one name can be compared. It is a key of the cache.
	Name() string
	// Embed returns one vector a text, in order, all of one length. It may be called by several goroutines.
	Embed(ctx context.Context, texts []string) ([][]float32, error)
}

const (
	// fused is how many of the best of each ranking are fused into one.
	fused = 50
	// embedBatch and embedBytes bound one call of an embedder: its texts, and each of them.
	embedBatch = 64
	embedBytes = 8 << 10
	// embedTime bounds the embedding of a query: words alone are better than to wait.
	embedTime = 3 * time.Second
)

// embed gives vectors to the notes that have none, and reads all of them. What fails is noted: words find notes without.
func (m *Memory) embed(ctx context.Context) {
	if m.embedder == nil {
		return
	}
	missing, err := m.withoutVector(ctx)
	for batch := range slices.Chunk(missing, embedBatch) {
		if err == nil {
			err = m.embedAll(ctx, batch)
		}
	}
	if lookErr := m.look(ctx, "read the vectors", func() error {
		vectors, err := m.index.vectors(ctx, m.embedder.Name())
		if err == nil { // else those that were there stay: others search with them
			m.vectors = vectors
		}
		return err
	}); err == nil {
		err = lookErr
	}
	if err != nil {
		m.note("some notes are found by their words alone: " + err.Error())
	}
}

func (m *Memory) withoutVector(ctx context.Context) ([]unembedded, error) {
	var missing []unembedded
	err := m.look(ctx, "look for notes without a vector", func() (err error) {
		missing, err = m.index.withoutVector(ctx, m.embedder.Name())
		return err
	})
	return missing, err
}

func (m *Memory) embedAll(ctx context.Context, batch []unembedded) error {
	texts := make([]string, len(batch))
	for i, u := range batch {
		texts[i] = u.text
	}
	vectors, err := m.vectorsOf(ctx, texts)
	if err != nil {
		return err
	}
	return m.look(ctx, "store vectors", func() error { return m.index.keep(ctx, m.embedder.Name(), batch, vectors) })
}

// vectorsOf asks the embedder, and makes the vectors of unit length.
func (m *Memory) vectorsOf(ctx context.Context, texts []string) ([][]float32, error) {
	vectors, err := m.embedder.Embed(ctx, texts)
	if err != nil {
		return nil, fmt.Errorf("embedder %s: %w", m.embedder.Name(), err)
	}
	if len(vectors) != len(texts) {
		return nil, fmt.Errorf("embedder %s gave %d vectors for %d texts", m.embedder.Name(), len(vectors), len(texts))
	}
	for i, v := range vectors {
		length := math.Sqrt(dot(v, v))
		if length == 0 || math.IsNaN(length) || math.IsInf(length, 0) {
			return nil, fmt.Errorf("embedder %s gave a vector without a direction", m.embedder.Name())
		}
		vectors[i] = make([]float32, len(v))
		for j, x := range v {
			vectors[i][j] = float32(float64(x) / length)
		}
	}
	return vectors, nil
}

// meaning is the vector of a query; nil when words alone are to be searched for.
func (m *Memory) meaning(ctx context.Context, query string) []float32 {
	if m.embedder == nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, embedTime)
	defer cancel()
	vectors, err := m.vectorsOf(ctx, []string{cut(query, embedBytes)})
	if err != nil {
		m.note("searched by words alone: " + err.Error())
		return nil
	}
	return vectors[0]
}

func dot(a, b []float32) float64 {
	sum := 0.0
	for i := range a {
		sum += float64(a[i]) * float64(b[i])
	}
	return sum
}

// nearest ranks the notes by the cosine of their vectors with that of the query.
func nearest(vectors map[string][]float32, query []float32) []ranked {
	found := make([]ranked, 0, len(vectors))
	for name, v := range vectors {
		if len(v) == len(query) {
			found = append(found, ranked{name, dot(v, query)})
		}
	}
	slices.SortFunc(found, byScore)
	return found[:min(fused, len(found))]
}

// fuse joins rankings by reciprocal rank: what stands high in both comes first, and no score is compared with another kind.
func fuse(rankings ...[]ranked) []ranked {
	const damp = 60 // the usual constant: the first ranks do not outweigh everything
	scores := map[string]float64{}
	for _, ranking := range rankings {
		for i, r := range ranking {
			scores[r.name] += 1 / float64(damp+i+1)
		}
	}
	all := make([]ranked, 0, len(scores))
	for name, score := range scores {
		all = append(all, ranked{name, score})
	}
	slices.SortFunc(all, byScore)
	return all
}

// unembedded is a note that has no vector yet; its digest is that of its file.
type unembedded struct {
	digest []byte
	text   string
}

func (ix *index) withoutVector(ctx context.Context, embedder string) ([]unembedded, error) {
	return collect(ctx, ix, func(rows *sql.Rows) (u unembedded, err error) {
		var raw []byte
		if err := rows.Scan(&u.digest, &raw); err != nil {
			return u, err
		}
		n, err := stored("", raw, u.digest)
		u.text = cut(n.Title+"\n"+n.Text, embedBytes)
		return u, err
	}, `SELECT DISTINCT digest, raw FROM notes WHERE NOT EXISTS(
		SELECT 1 FROM vectors WHERE vectors.digest = notes.digest AND embedder = ?)`, embedder)
}

func (ix *index) vectors(ctx context.Context, embedder string) (map[string][]float32, error) {
	all := map[string][]float32{}
	_, err := collect(ctx, ix, func(rows *sql.Rows) (string, error) {
		var name string
		var blob []byte
		err := rows.Scan(&name, &blob)
		v := make([]float32, len(blob)/4)
		for i := range v {
			v[i] = math.Float32frombits(binary.LittleEndian.Uint32(blob[4*i:]))
		}
		all[name] = v
		return name, err
	}, "SELECT name, vector FROM notes JOIN vectors USING(digest) WHERE embedder = ?", embedder)
	return all, err
}

// keep stores vectors, and drops those of notes that are no more.
func (ix *index) keep(ctx context.Context, embedder string, notes []unembedded, vectors [][]float32) error {
	return ix.write(ctx, func(tx *sql.Tx) error {
		for i, n := range notes {
			blob := make([]byte, 0, 4*len(vectors[i]))
			for _, x := range vectors[i] {
				blob = binary.LittleEndian.AppendUint32(blob, math.Float32bits(x))
			}
			_, err := tx.ExecContext(ctx, "INSERT OR REPLACE INTO vectors VALUES(?, ?, ?)", n.digest, embedder, blob)
			if err != nil {
				return err
			}
		}
		_, err := tx.ExecContext(ctx, "DELETE FROM vectors WHERE digest NOT IN (SELECT digest FROM notes)")
		return err
	})
}
