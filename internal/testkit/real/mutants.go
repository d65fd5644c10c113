package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/bmatcuk/doublestar/v4"
)

// operators are the one-line changes of a mutant, as sed expressions.
var operators = [][2]string{
	{" == ", " != "},
	{" != ", " == "},
	{" === ", " !== "},
	{" !== ", " === "},
	{" && ", " || "},
	{" < ", " >= "},
	{" > ", " <= "},
	{" + 1", " + 2"},
	{" - 1", " - 2"},
	{"return true", "return false"},
	{"return false", "return true"},
	{" and ", " or "},
	{" is None", " is not None"},
	{"True", "False"},
	{"if not ", "if "},
	{"if !", "if "},
}

// shards is how many right files one run changes, beside the wrong one.
const shards = 25

// mutant is one wrong shard, and how many gate runs it took until all others had landed.
type mutant struct {
	wrong
	Runs  int  `json:"runs"`
	Right bool `json:"right"`
}

// sow seeds wrong shards, one a run, which the gates catch in a plain script too, and prints how many gate runs each cost.
func (r *repo) sow(ctx context.Context, p *place, n int) error {
	c := change{By: "file", Glob: r.Mutants.Glob, Match: "(?s).", Sed: "$a " + r.Mutants.Comment + " seen"}
	random := rand.New(rand.NewPCG(1, 2)) //nolint:gosec // the same mutants in every run
	files, sources, err := r.sown(ctx, p, &c, random)
	if err != nil {
		return err
	}
	c.Glob = "{" + strings.Join(files, ",") + "}"
	var had []mutant
	store := filepath.Join(p.work, "mutants.json")
	if data, err := os.ReadFile(store); err == nil {
		if err := json.Unmarshal(data, &had); err != nil {
			return fmt.Errorf("read %s: %w", store, err)
		}
	}
	_, usual, err := p.script(ctx, &c, nil)
	if err != nil {
		return err
	}
	for tries := 0; len(had) < n && tries < 20*n; tries++ {
		w, ok := mutate(p.repo, sources[random.IntN(len(sources))], random)
		if !ok || slices.ContainsFunc(had, func(m mutant) bool { return m.wrong == w }) {
			continue
		}
		if caught, err := p.caught(ctx, &c, &w, usual); err != nil {
			return err
		} else if !caught {
			continue
		}
		m, err := p.seed(ctx, &job{change: c, wrong: &w}, len(files))
		if err != nil {
			return err
		}
		had = append(had, m)
		data, err := json.Marshal(had)
		if err == nil {
			err = os.WriteFile(store, data, 0o644)
		}
		if err != nil {
			return err
		}
	}
	printMutants(p.out, r.Name, had)
	return nil
}

// caught reports whether a test catches a mutant: a plain script fails twice, and not as it does without.
func (p *place) caught(ctx context.Context, c *change, w *wrong, usual string) (bool, error) {
	for range 2 {
		if _, red, err := p.script(ctx, c, w); err != nil || red == usual {
			return false, err
		}
	}
	return true, nil
}

// sown picks the files that a run changes, and those of them that may be wrong: no tests, which would name themselves.
func (r *repo) sown(ctx context.Context, p *place, c *change, random *rand.Rand) (files, sources []string, err error) {
	if files, err = c.files(ctx, p.repo); err != nil {
		return nil, nil, fmt.Errorf("list the files for mutants: %w", err)
	}
	random.Shuffle(len(files), func(i, j int) { files[i], files[j] = files[j], files[i] })
	var others []string
	for _, file := range files {
		if doublestar.MatchUnvalidated(r.Mutants.Wrong, file) && len(sources) <= shards/2 {
			sources = append(sources, file)
		} else {
			others = append(others, file)
		}
	}
	if len(sources) == 0 {
		return nil, nil, fmt.Errorf("no file matches %q", r.Mutants.Wrong)
	}
	files = append(slices.Clone(sources), others...)
	return files[:min(shards+1, len(files))], sources, nil
}

// seed runs one job with a mutant.
func (p *place) seed(ctx context.Context, j *job, files int) (mutant, error) {
	o, err := p.run(ctx, "mutant", j)
	right := o.Landed == files-1 && len(o.Parked) == 1 && !p.changed(ctx, o.Ref, j.wrong.File)
	return mutant{wrong: *j.wrong, Runs: o.Until, Right: right}, err
}

// mutate picks a line of a file that an operator applies to.
func mutate(dir, file string, random *rand.Rand) (wrong, bool) {
	data, err := os.ReadFile(filepath.Join(dir, file))
	if err != nil {
		return wrong{}, false
	}
	lines := strings.Split(string(data), "\n")
	start := random.IntN(len(lines))
	for i := range lines {
		at := (start + i) % len(lines)
		text := strings.TrimSpace(lines[at])
		if strings.HasPrefix(text, "//") || strings.HasPrefix(text, "#") || strings.HasPrefix(text, "*") {
			continue
		}
		for _, o := range operators {
			if strings.Contains(lines[at], o[0]) {
				sed := fmt.Sprintf("%ds/%s/%s/", at+1, escaped(o[0]), strings.ReplaceAll(o[1], "&", `\&`))
				return wrong{File: file, Sed: sed}, true
			}
		}
	}
	return wrong{}, false
}

func escaped(text string) string { return strings.NewReplacer("+", `\+`, "|", `\|`).Replace(text) }

func printMutants(w io.Writer, name string, list []mutant) {
	runs, wrong := make([]int, 0, len(list)), 0
	for _, m := range list {
		runs = append(runs, m.Runs)
		if !m.Right {
			wrong++
		}
	}
	slices.Sort(runs)
	if len(runs) == 0 {
		fmt.Fprintf(w, "%-14s mutants: none that a test catches\n", name)
		return
	}
	fmt.Fprintf(w, "%-14s mutants %d: gate runs until the others have landed: median %d, worst %d; ended wrong: %d; each: %v\n",
		name, len(runs), runs[len(runs)/2], runs[len(runs)-1], wrong, runs)
}
