package main

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/tools/txtar"
)

// harbour is the repository, with what is known of it that its reviewer must not know.
type harbour struct {
	files  map[string]string
	shards map[string]*shard // by path
	plan   map[string]any
}

// shard is a file that a task of a template changes.
type shard struct {
	Path     string `json:"path"`
	Template string `json:"template"`
	// Edits are the edits of the first attempt, Right those of later ones. Wrong is what is wrong about the first, if anything.
	Edits []edit `json:"-"`
	Right []edit `json:"-"`
	Wrong string `json:"wrong"`
	// First is the file as the first attempt leaves it.
	First string `json:"first"`
}

// brief is a task whose brief is wrong.
type brief struct {
	task, role, path string
	// says is the brief. While an agent reads it, it does bad (or asks); with another brief it does good.
	says, asks string
	bad, good  edit
}

var briefs = []brief{
	{
		task: "limits", role: "generator", path: "shared/limits/limits.go",
		says: "Raise MaxPage to 1000, as the decision record has it.",
		bad:  edit{"MaxPage = 100", "MaxPage = 1000"},
		good: edit{"MaxPage = 100", "MaxPage = 200"},
	},
	{
		task: "rates", role: "generator", path: "shared/rates/rates.go",
		says: "Drop what is below a whole cent in Cents.",
		bad:  edit{"return (tenths + 5) / 10", "return tenths / 10"},
		good: edit{
			"func Cents(tenths int) int { return (tenths + 5) / 10 }",
			"func Cents(tenths int) int {\n\tconst half = 5\n\treturn (tenths + half) / 10\n}",
		},
	},
	{
		task: "ledger", role: "careful", path: "shared/ledger/ledger.go",
		says: "Rename Total to Sum, and change no exported name.",
		asks: "The brief tells me to rename Total to Sum, and to change no exported name. Total is exported. What is to be done?",
		good: edit{"// Total is the sum of bookings.", "// Total is the sum of bookings; 0 where there are none."},
	},
}

const decisionRecord = `Errors of stores name the file. Handlers answer failures with package problem. Waits come from
package backoff, the time from package clock. What a package exports keeps its name and its results. MaxPage becomes 200: the
gateway cuts pages of more than 250 lines.`

// build makes the repository and its plan. The first named templates have names of their own in their lines.
func build(seed uint64, tasks, named int) (*harbour, error) {
	h := &harbour{files: map[string]string{}, shards: map[string]*shard{}}
	data, err := code.ReadFile("code/shared.txt")
	if err != nil {
		return nil, err
	}
	for _, f := range txtar.Parse(data).Files {
		h.files[f.Name] = strings.ReplaceAll(string(f.Data), "SEED", strconv.FormatUint(seed%20, 10))
	}
	random := rand.New(rand.NewPCG(seed, 0)) //nolint:gosec // the seed is to give the same again
	things := slices.Clone(nouns)
	random.Shuffle(len(things), func(i, j int) { things[i], things[j] = things[j], things[i] })
	var list []any
	shards := tasks - len(briefs)
	for i, name := range templates {
		t, err := readTemplate(name)
		if err != nil {
			return nil, err
		}
		n := shards/len(templates) + min(1, max(0, shards%len(templates)-i))
		if err := h.add(t, things, n, i < named, random); err != nil {
			return nil, err
		}
		list = append(list, map[string]any{
			"id": name, "title": "Change " + name, "role": "generator", "brief": t.brief,
			"shard": map[string]any{"by": "file", "glob": name + "/*/*.go", "match": t.match, "max_files": 1},
		})
	}
	for _, b := range briefs {
		list = append(list, map[string]any{
			"id": b.task, "title": "Settle " + b.task, "role": b.role, "brief": b.says, "files": []string{b.path}, "attempts": 2,
		})
	}
	goal := "Settle the style of the harbour's packages"
	h.plan = map[string]any{"goal": goal, "decision_record": decisionRecord, "tasks": list}
	return h, nil
}

// add makes n packages of a template, and sows what is wrong in some of them.
func (h *harbour) add(t *template, things []string, n int, named bool, random *rand.Rand) error {
	order := random.Perm(n)
	if n < len(t.bad) {
		return fmt.Errorf("%d packages of %s are too few", n, t.name)
	}
	for i := range n {
		noun := things[i%len(things)]
		pkg := noun + "s" + strings.Repeat("x", i/len(things))
		thing := noun
		if !named {
			thing = "record"
		}
		own := strings.NewReplacer("PKG", pkg, "thing", thing, "Thing", strings.ToUpper(thing[:1])+thing[1:])
		s := &shard{Path: t.name + "/" + pkg + "/" + pkg + ".go", Template: t.name}
		for _, e := range t.right {
			s.Right = append(s.Right, edit{own.Replace(e.From), own.Replace(e.To)})
		}
		s.Edits = slices.Clone(s.Right)
		more := edit{}
		if place := order[i]; place < len(t.bad) {
			s.Wrong, more = t.bad[place].what, t.bad[place].edit
		} else if random.IntN(10) == 0 {
			more = t.other
		}
		if more != (edit{}) {
			s.Edits = append(s.Edits, edit{own.Replace(more.From), own.Replace(more.To)})
		}
		if err := h.write(s, own.Replace(t.code), own.Replace(t.test)); err != nil {
			return err
		}
	}
	return nil
}

func (h *harbour) write(s *shard, text, test string) (err error) {
	if h.files[s.Path], err = goFile(s.Path, text); err != nil {
		return err
	}
	testPath := strings.TrimSuffix(s.Path, ".go") + "_test.go"
	if h.files[testPath], err = goFile(testPath, test); err != nil {
		return err
	}
	if s.First, err = apply(h.files[s.Path], s.Edits); err != nil {
		return fmt.Errorf("%s: %w", s.Path, err)
	}
	h.shards[s.Path] = s
	return nil
}

// planted are the shards with something wrong.
func (h *harbour) planted() (out []*shard) {
	for _, s := range h.shards {
		if s.Wrong != "" {
			out = append(out, s)
		}
	}
	slices.SortFunc(out, func(a, b *shard) int { return strings.Compare(a.Path, b.Path) })
	return out
}

// put writes the repository with one commit, the plan, and what was planted.
func (h *harbour) put(ctx context.Context, dir string) error {
	repo := filepath.Join(dir, "harbour")
	for name, text := range h.files {
		path := filepath.Join(repo, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			return err
		}
	}
	for _, args := range [][]string{
		{"init", "-q", "-b", "main"},
		{"add", "-A"},
		{"-c", "user.name=harbour", "-c", "user.email=harbour@localhost", "commit", "-qm", "harbour: begin"},
	} {
		if out, err := exec.CommandContext(ctx, "git", append([]string{"-C", repo}, args...)...).CombinedOutput(); err != nil {
			return fmt.Errorf("git %s: %w: %s", args[0], err, out)
		}
	}
	if err := writeJSON(filepath.Join(dir, "plan.yaml"), h.plan); err != nil { // JSON is YAML
		return err
	}
	return writeJSON(filepath.Join(dir, "answers.json"), h.planted())
}

func writeJSON(path string, v any) error {
	data, err := json.MarshalIndent(v, "", "  ")
	if err != nil {
		return err
	}
	return os.WriteFile(path, data, 0o600)
}

var nouns = strings.Fields(`anchor berth boat buoy cable canal captain cargo chart claim convoy crane crate crew deck depot
	dock driver flag fleet gauge guard hook haul hull invoice journey keel lane ledge lock manifest mast mooring notice order
	parcel permit pier pilot port quay radio rope route sail seal ship signal survey tank ticket tide tow tug vessel
	visit voyage watch yard`)
