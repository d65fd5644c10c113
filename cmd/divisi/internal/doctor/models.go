package doctor

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"time"

	"google.golang.org/genai"

	"divisi/contextscope/content"
	"divisi/internal/model"
	"divisi/internal/model/chat"
	"divisi/internal/spec"
	"divisi/internal/text"
	"divisi/orchestrator/needs"
)

// Service is where models are served, and which variable has the key for it.
type Service struct{ Provider, BaseURL, KeyEnv string }

func (s Service) String() string {
	if s.BaseURL == "" {
		return s.Provider
	}
	return s.Provider + " at " + s.BaseURL
}

// key reports which key a service that can be reached is given.
func (s Service) key() string {
	names := []string{"GOOGLE_API_KEY", "GEMINI_API_KEY"}
	if s.Provider == spec.ProviderOpenAI {
		names = []string{s.KeyEnv}
		if s.BaseURL == "" {
			names = []string{cmp.Or(s.KeyEnv, chat.DefaultKeyEnv)}
		}
	}
	for _, name := range names {
		if os.Getenv(name) != "" {
			return name + " is set"
		}
	}
	if s.Provider == spec.ProviderOpenAI {
		return "no key is needed"
	}
	return "the default credentials of Google Cloud are used"
}

// services are those of the project's models, each with the aliases that it serves.
func services(p spec.Project) map[Service][]string {
	aliases := map[Service][]string{}
	for _, alias := range slices.Sorted(maps.Keys(p.Models)) {
		m := p.Models[alias]
		s := Service{m.Provider, m.BaseURL, m.KeyEnv}
		aliases[s] = append(aliases[s], alias)
	}
	return aliases
}

// keys reports each service whether its key is set, and with o.Call what it answers. A service that the repository names
// is called only when the repository is trusted.
func (o Options) keys(ctx context.Context, p spec.Project, trusted bool) []Finding {
	var found []Finding
	byService := services(p)
	for _, s := range slices.SortedFunc(maps.Keys(byService), func(a, b Service) int {
		return cmp.Or(cmp.Compare(a.String(), b.String()), cmp.Compare(a.KeyEnv, b.KeyEnv))
	}) {
		aliases := byService[s]
		of := fmt.Sprintf(" for the models %s (%s)", strings.Join(aliases, ", "), s)
		client, end, err := connect(ctx, s)
		if err != nil {
			found = append(found, warn("key", "plans of commands need none", "%v%s", err, of))
			continue
		}
		found = append(found, fine("key", "%s%s", s.key(), of))
		switch {
		case o.Call && !trusted && s.Provider == spec.ProviderOpenAI:
			found = append(found, warn("call", "agree first: divisi trust", "%s is not called: the repository is not trusted", s))
		case o.Call:
			alias := aliases[0]
			if slices.Contains(aliases, spec.ModelCheap) {
				alias = spec.ModelCheap
			}
			found = append(found, call(ctx, client, p.ModelName(alias)))
		}
		end()
	}
	return found
}

// call makes one short call, as a run would.
func call(ctx context.Context, client model.Model, name string) Finding {
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	begun := time.Now()
	const few = 256 // tokens, thoughts included
	req := &model.Request{
		Model: name, Contents: []*genai.Content{genai.NewContentFromText("Answer with the word ok.", genai.RoleUser)},
		Config: &genai.GenerateContentConfig{MaxOutputTokens: few}, Meta: model.Meta{Run: "doctor", Purpose: "doctor"},
	}
	for ev, err := range model.New(client, model.Policy{}).Generate(ctx, req) {
		if err != nil {
			return bad("call", "check the key, the model's name, its address and your quota", "%s: %v", name, err)
		}
		if r := ev.Result; r != nil {
			return fine("call", "%s answered %q (%d tokens, %s)",
				name, text.Runes(strings.TrimSpace(content.Text(r.Content)), 60), r.Usage.Total(),
				time.Since(begun).Round(time.Millisecond))
		}
	}
	return bad("call", "try again", "%s: the answer ended without a result", name)
}

// connect makes the client of a service, and what closes it.
func connect(ctx context.Context, s Service) (m model.Model, end func(), err error) {
	if s.Provider == spec.ProviderOpenAI {
		m, err = needs.Place{BaseURL: s.BaseURL, KeyEnv: s.KeyEnv}.Connect(nil)
		return m, func() {}, err
	}
	gemini, err := model.NewGemini(ctx, model.Options{})
	if err != nil {
		return nil, nil, err
	}
	return gemini, gemini.Close, nil
}
