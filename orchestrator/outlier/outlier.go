package outlier

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"divisi/internal/text"
)

const (
	// Fewest is how many shards can tell what is usual.
	Fewest = 4
	// share bounds the part of the shards with outliers: where more have some, each one edits in its own way.
	share = 4
	// long is from how many tokens on an edit is compared token by token: its order is its own.
	long = 12
)

// Shard is the change of one shard; it may be imports alone.
type Shard struct {
	ID    string
	Edits []Edit
}

// Outlier is an edit that no other shard makes. Usual is one that most make; nil for none.
type Outlier struct {
	Edit

	Usual *Edit
}

// rare is the most shards that an outlier has, of some.
func rare(shards int) int { return 1 + shards/64 }

// frequent is how many of some shards have what is usual.
func frequent(shards int) int { return max(3, shards/4) }

// Find returns the outliers of the shards of one template, by shard; none where they are too few, or too different.
func Find(shards []Shard) map[string][]Outlier {
	if len(shards) < Fewest {
		return nil
	}
	c := learn(shards)
	outliers := map[string][]Outlier{}
	for i, s := range shards {
		for j := range s.Edits {
			if e := &shards[i].Edits[j]; c.isOutlier(e, c.kinds[i][j]) && !slices.ContainsFunc(outliers[s.ID], e.beside) {
				outliers[s.ID] = append(outliers[s.ID], Outlier{Edit: *e})
			}
		}
	}
	if len(outliers) > len(shards)/share {
		return nil
	}
	c.compare(shards, outliers)
	return outliers
}

// beside reports whether an edit is in the lines of another one.
func (e *Edit) beside(o Outlier) bool {
	return e.File == o.File && (e.Was == o.Was && e.Was != "" || e.Is == o.Is && e.Is != "")
}

// counted is how many shards have what.
type counted struct {
	shards int
	// words are the texts of tokens that change, names what names became, parts the kinds of edits, come what is added.
	words, names, parts, come map[string]int
	// kinds are those of each edit of each shard.
	kinds [][][]string
}

func learn(shards []Shard) *counted {
	c := &counted{
		shards: len(shards), words: map[string]int{}, names: map[string]int{}, parts: map[string]int{}, come: map[string]int{},
	}
	for _, s := range shards {
		own, names := map[string]bool{}, map[string]bool{}
		for _, e := range s.Edits {
			if now := become(e.removed, e.added); now != "" {
				names[now] = true
			}
			addWords(own, e.removed)
			addWords(own, e.added)
		}
		tally(c.words, own)
		tally(c.names, names)
	}
	for _, s := range shards {
		kinds, own, come := make([][]string, len(s.Edits)), map[string]bool{}, map[string]bool{}
		for j := range s.Edits {
			e := &s.Edits[j]
			kinds[j] = c.kindsOf(e)
			for _, k := range kinds[j] {
				own[k] = true
			}
			come[c.shape(e, e.added)] = true
		}
		tally(c.parts, own)
		tally(c.come, come)
		c.kinds = append(c.kinds, kinds)
	}
	return c
}

func tally(to map[string]int, own map[string]bool) {
	for k := range own {
		to[k]++
	}
}

// become describes the change of a name, in words, without those that both have at their ends: of getRecords and getRows records
// and rows; "" where a list is longer.
func become(removed, added []token) string {
	if len(removed) != 1 || len(added) != 1 || removed[0].class == symbol || removed[0].class != added[0].class {
		return ""
	}
	a, b := text.Words(removed[0].text), text.Words(added[0].text)
	for len(a) > 0 && len(b) > 0 && a[0] == b[0] {
		a, b = a[1:], b[1:]
	}
	for len(a) > 0 && len(b) > 0 && a[len(a)-1] == b[len(b)-1] {
		a, b = a[:len(a)-1], b[:len(b)-1]
	}
	return strings.TrimSuffix(strings.Join(a, " "), "s") + " > " + strings.TrimSuffix(strings.Join(b, " "), "s")
}

// kindsOf is the kind of an edit: what becomes what, without names that are a shard's own; of a long one what is taken away and
// what is added, one by one.
func (c *counted) kindsOf(e *Edit) []string {
	if now := become(e.removed, e.added); c.names[now] >= frequent(c.shards) {
		return []string{now}
	}
	if len(e.removed)+len(e.added) < long {
		return []string{c.shape(e, e.removed) + " > " + c.shape(e, e.added)}
	}
	kinds := map[string]bool{}
	for i, list := range [][]token{e.removed, e.added} {
		for _, t := range list {
			kinds["-+"[i:i+1]+c.word(e, t)] = true
		}
		if len(list) >= long {
			kinds["-+"[i:i+1]+"…"] = true
		}
	}
	return slices.Sorted(maps.Keys(kinds))
}

// shape is some tokens, with one sign for each list of names of a shard's own.
func (c *counted) shape(e *Edit, tokens []token) string {
	var out []string
	for _, t := range tokens {
		if strings.Contains(brackets, t.text) {
			continue
		}
		w, last := c.word(e, t), len(out)-1
		if own := len(w) == 1 && t.class != symbol; own && last >= 0 && out[last] == w {
			continue
		} else if own && last > 0 && out[last] == "." && out[last-1] == w {
			out = out[:last]
			continue
		}
		out = append(out, w)
	}
	return strings.Join(out, " ")
}

// brackets are no part of a shape: formatters put some around what is on more than one line.
const brackets = "()[]{}\""

// word is a token as most shards have it: its text where they change it too, else its class.
func (c *counted) word(e *Edit, t token) string {
	switch {
	case t.class == symbol:
		return t.text
	case e.moved[t.text]: // whatever it is: an argument that changes its place is one of the shard's own
		return "m"
	case c.words[t.text] >= frequent(c.shards):
		return t.text
	}
	return string(t.class)
}

// isOutlier reports whether hardly another shard has an edit of a kind. What a line that the rule matches becomes is usual where
// most add the same.
func (c *counted) isOutlier(e *Edit, kinds []string) bool {
	if len(e.added) > 0 && len(e.removed) > 0 && e.covered && c.come[c.shape(e, e.added)] >= frequent(c.shards) {
		return false
	}
	return slices.ContainsFunc(kinds, func(k string) bool { return k != " > " && c.parts[k] <= rare(c.shards) })
}

// compare gives each outlier the usual edit that is closest: by the kinds that most shards have.
func (c *counted) compare(shards []Shard, outliers map[string][]Outlier) {
	var usual *Edit
	best := 0
	for i, s := range shards {
		if outliers[s.ID] != nil {
			continue
		}
		for j := range s.Edits {
			n := slices.Max(append([]int{0}, c.counts(c.kinds[i][j])...))
			if n > best || n == best && usual != nil && len(s.Edits[j].Was)+len(s.Edits[j].Is) < len(usual.Was)+len(usual.Is) {
				usual, best = &shards[i].Edits[j], n
			}
		}
	}
	for id := range outliers {
		for i := range outliers[id] {
			outliers[id][i].Usual = usual
		}
		slices.SortStableFunc(outliers[id], func(a, b Outlier) int {
			return cmp.Or(strings.Compare(a.File, b.File), a.Line-b.Line)
		})
	}
}

func (c *counted) counts(kinds []string) (out []int) {
	for _, k := range kinds {
		out = append(out, c.parts[k])
	}
	return out
}
