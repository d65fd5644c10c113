package memory

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"
)

// topics is an embedder that knows two topics: fruit and animals.
type topics struct {
	mu    sync.Mutex
	calls []string
	fail  error
	short bool
}

func (e *topics) Name() string { return "topics" }

func (e *topics) Embed(_ context.Context, texts []string) ([][]float32, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.calls = append(e.calls, texts...)
	if e.fail != nil {
		return nil, e.fail
	}
	if e.short {
		return make([][]float32, 1), nil
	}
	var out [][]float32
	for _, text := range texts {
		v := []float32{0.1, 0.1, 0.1}
		for i, topic := range []string{"apple banana fruit", "cat dog pet"} {
			for w := range strings.FieldsSeq(topic) {
				if strings.Contains(text, w) {
					v[i]++
				}
			}
		}
		out = append(out, v)
	}
	return out, nil
}

func TestNotesAreFoundByMeaningToo(t *testing.T) {
	t.Parallel()
	p := newPlace(t, map[string]string{"a.md": "an apple", "b.md": "a banana", "c.md": "a cat", "d.md": "a dog", "e.md": "a pet apple"})
	e := &topics{}
	o := p.options()
	o.Embedder = e
	m := p.openWith(o)
	require.Len(t, e.calls, 5)
	got := found(t, m, "fruit")
	require.Equal(t, []string{"a", "b"}, got[:2], "no note has the word")
	require.Equal(t, "e", found(t, m, "pet")[0], "what both rankings put high comes first")
	_, err := m.Add(t.Context(), Note{Title: "f", Text: "a fruit"})
	require.NoError(t, err)
	require.Equal(t, "f", found(t, m, "fruit")[0])
	before := len(e.calls)
	again := p.openWith(o)
	require.Len(t, e.calls, before, "vectors are kept")
	require.Equal(t, found(t, m, "fruit"), found(t, again, "fruit"))
	require.NoError(t, m.Remove(t.Context(), "f"))
	require.NotContains(t, found(t, m, "fruit"), "f")
	require.Empty(t, found(t, m, "the"))
	require.Empty(t, p.said)
}

func TestAFailingEmbedderLeavesTheWords(t *testing.T) {
	t.Parallel()
	p := newPlace(t, map[string]string{"a.md": "an apple", "b.md": "a banana"})
	e := &topics{fail: errors.New("no quota")}
	o := p.options()
	o.Embedder = e
	m := p.openWith(o)
	require.Equal(t, []string{"a"}, found(t, m, "apple"))
	require.Len(t, p.said, 2)
	require.Contains(t, p.said[0], "found by their words alone: embedder topics: no quota")
	require.Contains(t, p.said[1], "searched by words alone")
	e.fail, e.short = nil, true
	require.Equal(t, []string{"b"}, found(t, m, "banana"))
	require.Contains(t, p.said[2], "without a direction")
	_, err := m.Refresh(t.Context())
	require.NoError(t, err)
	require.Contains(t, p.said[3], "gave 1 vectors for 2 texts")
	e.short = false
	_, err = m.Refresh(t.Context())
	require.NoError(t, err)
	require.Equal(t, []string{"a", "b"}, found(t, m, "fruit"))
}

// hanging is an embedder that answers nobody.
type hanging struct{ topics }

func (*hanging) Embed(ctx context.Context, _ []string) ([][]float32, error) {
	<-ctx.Done()
	return nil, ctx.Err()
}

func TestASlowEmbedderLeavesTheWords(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := newPlace(t, map[string]string{"a.md": "an apple"})
		p.home = ""
		m := p.open()
		m.embedder = &hanging{}
		ctx, cancel := context.WithTimeout(t.Context(), 2*embedTime)
		defer cancel()
		hits, err := m.Search(ctx, "apple", 1)
		require.NoError(t, err)
		require.Len(t, hits, 1)
		require.Len(t, p.said, 1)
	})
}

func TestARefreshThatIsCutShortKeepsTheVectors(t *testing.T) {
	t.Parallel()
	p := newPlace(t, map[string]string{"a.md": "an apple", "b.md": "a banana"})
	o := p.options()
	o.Embedder = &topics{}
	m := p.openWith(o)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := m.Refresh(ctx)
	require.Error(t, err)
	m.embed(ctx)
	require.Equal(t, []string{"a", "b"}, found(t, m, "fruit"))
}

func TestFuse(t *testing.T) {
	t.Parallel()
	got := fuse([]ranked{{"a", 9}, {"b", 8}, {"c", 7}}, []ranked{{"c", 1}, {"b", 0.5}, {"d", 0.1}})
	var names []string
	for _, r := range got {
		names = append(names, r.name)
	}
	require.Equal(t, []string{"c", "b", "a", "d"}, names)
	require.InDelta(t, 1.0/62+1.0/62, got[1].score, 1e-12)
}
