package chat

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"iter"
	"net/http"
	"net/url"
	"strings"
	"sync/atomic"
	"time"

	"divisi/internal/model"
)

// Where requests go when no address is given, and the variable with the key for it.
const (
	DefaultBaseURL = "https://api.openai.com/v1"
	DefaultKeyEnv  = "OPENAI_API_KEY"
)

// silence is how long a server may be silent. Services think without a word, and local ones send no bytes of a call until they
// have all of it.
const silence = 5 * time.Minute

// Options configure a client.
type Options struct {
	// BaseURL is the address up to and with the version, such as http://127.0.0.1:11434/v1; empty means DefaultBaseURL.
	BaseURL string
	// Key is sent as a bearer token; empty means none. KeyEnv names the variable that it came from, for messages.
	Key    string `json:"-"`
	KeyEnv string
	// HTTPClient lends its transport, cookie jar and redirect policy; nil means connections of the client's own.
	HTTPClient *http.Client
	// Patience is how long a model, by name, may be silent before the first byte of an answer and between bytes; 0, or nil,
	// leaves it at 5 min.
	Patience func(model string) (first, silence time.Duration)
}

// String leaves the key out.
func (o Options) String() string { return fmt.Sprintf("chat.Options{BaseURL:%q}", o.BaseURL) }

// GoString leaves the key out.
func (o Options) GoString() string { return o.String() }

// Client is one service. It sends each request once, but for what it learns; retries are model.New's.
type Client struct {
	poster      *model.Poster
	base        string
	key, keyEnv string
	// learnt are the service's traits so far.
	learnt atomic.Uint32
}

// New makes a client. The error is a *model.Error: of class Invalid for the address, Auth for the key.
func New(opt Options) (*Client, error) {
	c := &Client{base: strings.TrimRight(cmp.Or(opt.BaseURL, DefaultBaseURL), "/"), key: opt.Key, keyEnv: opt.KeyEnv}
	u, err := url.Parse(c.base)
	if err != nil || u.Hostname() == "" || u.Scheme != "http" && u.Scheme != "https" || u.User != nil || u.RawQuery != "" {
		// The address is not shown: it may contain a password.
		return nil, &model.Error{Class: model.Invalid, Message: "the service's address is not of the form http://host:port/v1"}
	}
	if strings.ContainsFunc(opt.Key, func(r rune) bool { return r <= ' ' || r > '~' }) {
		return nil, &model.Error{Class: model.Auth, Message: fmt.Sprintf("the API key %scontains a space, a line break or "+
			"a character that no key has: set it again", c.keyWhere())}
	}
	c.poster = model.NewPoster(model.Options{HTTPClient: opt.HTTPClient, Patience: opt.Patience}, silence,
		c.base != DefaultBaseURL, c.refuse)
	return c, nil
}

// keyWhere says in a sentence where the key comes from.
func (c *Client) keyWhere() string {
	if c.keyEnv == "" {
		return ""
	}
	return "in " + c.keyEnv + " "
}

// Accounts are the accounts of the models: all have one, or with no key none.
func (c *Client) Accounts() map[string]string {
	return map[string]string{"": model.Account("openai", c.base, c.key)}
}

// Close closes idle connections. Calls under way are not touched.
func (c *Client) Close() { c.poster.Close() }

// String says where the client sends; never the key.
func (c *Client) String() string { return "chat completions at " + c.base }

// GoString says where the client sends; never the key.
func (c *Client) GoString() string { return c.String() }

// Generate implements model.Model.
func (c *Client) Generate(ctx context.Context, req *model.Request) iter.Seq2[model.Event, error] {
	return func(yield func(model.Event, error) bool) {
		s := &send{c: c, req: req, yield: yield}
		res, err := s.run(ctx)
		switch {
		case s.stopped:
		case err != nil:
			yield(model.Event{}, err.Hide(c.key))
		default:
			yield(model.Event{Result: res}, nil)
		}
	}
}

// send is one request under way. It lives on the goroutine that ranges.
type send struct {
	c       *Client
	req     *model.Request
	yield   func(model.Event, error) bool
	stopped bool // the consumer broke off
}

// run sends the request, and again for each trait of the service that its refusals tell.
func (s *send) run(ctx context.Context) (*model.Result, *model.Error) {
	if err := model.Validate(s.req); err != nil {
		return nil, err
	}
	for {
		known := trait(s.c.learnt.Load())
		body, fault := encode(s.req, known)
		if fault != nil {
			return nil, fault
		}
		res, fault := s.once(ctx, body)
		if fault == nil || !s.c.learn(known, fault) {
			return res, fault
		}
	}
}

// once returns nil, nil when the consumer broke off.
func (s *send) once(ctx context.Context, body []byte) (*model.Result, *model.Error) {
	post, err := http.NewRequestWithContext(ctx, http.MethodPost, s.c.base+"/chat/completions", bytes.NewReader(body))
	if err != nil {
		return nil, &model.Error{Class: model.Invalid, Message: "the request could not be built: " + err.Error()}
	}
	if c := s.req.Config; c != nil && c.HTTPOptions != nil {
		post.Header = c.HTTPOptions.Headers.Clone()
	}
	if post.Header == nil {
		post.Header = http.Header{}
	}
	post.Header.Set("Content-Type", "application/json")
	post.Header.Set("Accept", "text/event-stream")
	if s.c.key != "" {
		post.Header.Set("Authorization", "Bearer "+s.c.key)
	}
	a := &answer{req: s.req, show: s.show}
	done, fault := s.c.poster.Post(post, s.req, a.take)
	if s.stopped {
		return nil, nil
	}
	return a.result(done, fault)
}

func (s *send) show(part model.Event) bool {
	s.stopped = s.stopped || !s.yield(part, nil)
	return !s.stopped
}

// trait is how a service differs from what most of them take. Services are told apart by what they say, never by their names.
type trait uint32

const (
	// completionTokens: the limit of an answer is max_completion_tokens, and max_tokens is refused.
	completionTokens trait = 1 << iota
	// wantsThoughts: an answer's thoughts are to come back with its calls.
	wantsThoughts
	// noUsage: the usage of a stream cannot be asked for.
	noUsage
	// noToolChoice: which tool is called cannot be said.
	noToolChoice
)

// traits are the words of a refusal that tell of a trait.
var traits = []struct {
	word  string
	trait trait
}{
	{"max_completion_tokens", completionTokens},
	{"reasoning_content", wantsThoughts},
	{"stream_options", noUsage},
	{"tool_choice", noToolChoice},
}

// learn reports whether a refusal told of a trait that was not known when the request was made.
func (c *Client) learn(known trait, e *model.Error) bool {
	if e.Class != model.Invalid || e.Status == 0 {
		return false
	}
	for _, t := range traits {
		if known&t.trait == 0 && strings.Contains(e.Message, t.word) {
			c.learnt.Or(uint32(t.trait))
			return true
		}
	}
	return false
}
