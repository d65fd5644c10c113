package pull

import (
	"crypto/sha256"
	"fmt"
	"slices"
	"strings"
)

// Part is a landed task with what decides which pull request it goes into. Parts are in the order in which they landed.
type Part struct {
	Task, Commit string
	Files        []string
	// Set is the change set that it landed with: all tasks of one stay together, as those of one commit do. After are the tasks
	// that it depends on.
	Set   string
	After []string
	// Keys are what a grouping finds for it, such as the owners of its files; several are a group of their own.
	Keys []string
}

// Group is the parts of one pull request.
type Group struct {
	Name  string
	Parts []Part
	// Needs are the places of the groups whose changes it is built on, all of them; Below is the one among them that is built on
	// all others, which it is stacked on, -1 for none. Without a Below, a group with needs waits until these are merged.
	Needs []int
	Below int
}

// Tasks are the ids of its tasks.
func (g *Group) Tasks() []string {
	ids := make([]string, len(g.Parts))
	for i := range g.Parts {
		ids[i] = g.Parts[i].Task
	}
	return ids
}

// Groups puts parts into groups: each change set is whole, and groups that depend on each other are one. A group comes after
// those that it needs.
func Groups(parts []Part) []Group {
	units := whole(parts)
	place, names := map[string]int{}, []string{}
	of := make([]int, len(parts)) // the group of each part
	for i, p := range parts {
		key := units[unitOf(p)]
		at, known := place[key]
		if !known {
			at = len(names)
			place[key], names = at, append(names, key)
		}
		of[i] = at
	}
	needs := edges(parts, of, len(names))
	order := components(needs)
	groups, at := make([]Group, len(order)), make([]int, len(names))
	for g, members := range order {
		var joined []string
		for _, m := range members {
			at[m] = g
			joined = append(joined, names[m])
		}
		slices.Sort(joined)
		groups[g] = Group{Name: strings.Join(joined, "+"), Below: -1}
	}
	for i, p := range parts {
		g := &groups[at[of[i]]]
		g.Parts = append(g.Parts, p)
	}
	for from, list := range needs {
		for to := range list {
			if at[from] != at[to] {
				groups[at[from]].Needs = append(groups[at[from]].Needs, at[to])
			}
		}
	}
	for i := range groups {
		groups[i].settle(groups[:i])
	}
	return groups
}

// settle completes the needs of a group from those of the groups before it, and finds what it is stacked on.
func (g *Group) settle(before []Group) {
	for _, n := range slices.Clone(g.Needs) {
		g.Needs = append(g.Needs, before[n].Needs...)
	}
	slices.Sort(g.Needs)
	g.Needs = slices.Compact(g.Needs)
	for _, n := range g.Needs {
		if len(before[n].Needs) == len(g.Needs)-1 { // all others: what they need is among them
			g.Below = n
		}
	}
}

func unitOf(p Part) string {
	if p.Set != "" {
		return "set " + p.Set
	}
	return "commit " + p.Commit
}

// whole has the key of each unit that must stay together.
func whole(parts []Part) map[string]string {
	keys := map[string][]string{}
	for _, p := range parts {
		keys[unitOf(p)] = append(keys[unitOf(p)], p.Keys...)
	}
	units := map[string]string{}
	for unit, list := range keys {
		slices.Sort(list)
		units[unit] = strings.Join(slices.Compact(list), "+")
	}
	return units
}

// edges are the groups that each group needs: tasks of it depend on tasks of those, or change the same files later.
func edges(parts []Part, of []int, n int) []map[int]bool {
	needs := make([]map[int]bool, n)
	for i := range needs {
		needs[i] = map[int]bool{}
	}
	tasks, files := map[string]int{}, map[string]int{}
	for i, p := range parts {
		for _, id := range p.After {
			if g, landed := tasks[id]; landed && g != of[i] {
				needs[of[i]][g] = true
			}
		}
		for _, f := range p.Files {
			if g, changed := files[f]; changed && g != of[i] {
				needs[of[i]][g] = true
			}
			files[f] = of[i]
		}
		tasks[p.Task] = of[i]
	}
	return needs
}

// components are the groups that need each other, directly or through others, as one, each after what it needs (Tarjan).
func components(needs []map[int]bool) (out [][]int) {
	index, low, on := make([]int, len(needs)), make([]int, len(needs)), make([]bool, len(needs))
	var stack []int
	count := 0
	var visit func(v int)
	visit = func(v int) {
		count++
		index[v], low[v], on[v] = count, count, true
		stack = append(stack, v)
		for w := range needs { // in their order, so that the outcome is always the same
			switch {
			case !needs[v][w]:
			case index[w] == 0:
				visit(w)
				low[v] = min(low[v], low[w])
			case on[w]:
				low[v] = min(low[v], index[w])
			}
		}
		if low[v] != index[v] {
			return
		}
		at := slices.Index(stack, v)
		out = append(out, slices.Clone(stack[at:]))
		for _, w := range stack[at:] {
			on[w] = false
		}
		stack = stack[:at]
	}
	for v := range needs {
		if index[v] == 0 {
			visit(v)
		}
	}
	return out
}

// maxSlug bounds the part of a branch's name that a group gives it.
const maxSlug = 60

// Heads are the names of head branches: of a run alone, or of its groups. Of groups whose names read alike, the digest of each
// keeps them apart.
func Heads(of string, groups []Group) []string {
	slugs, count := make([]string, len(groups)), map[string]int{}
	for i := range groups {
		slugs[i] = slug(groups[i].Name)
		count[strings.ToLower(slugs[i])]++
	}
	for i := range slugs {
		if slugs[i] == "" || count[strings.ToLower(slugs[i])] > 1 {
			slugs[i] = strings.TrimLeft(fmt.Sprintf("%s-%.6x", slugs[i], sha256.Sum256([]byte(groups[i].Name))), "-")
		}
		slugs[i] = of + "-" + slugs[i]
	}
	return slugs
}

// slug is a text as a part of a branch's name.
func slug(s string) string {
	s = strings.Map(func(r rune) rune {
		if r < 128 && (r >= '0' && r <= '9' || r >= 'A' && r <= 'Z' || r >= 'a' && r <= 'z' || r == '_') {
			return r
		}
		return '-'
	}, s)
	s = strings.Join(strings.FieldsFunc(s, func(r rune) bool { return r == '-' }), "-")
	return strings.Trim(s[:min(len(s), maxSlug)], "-")
}
