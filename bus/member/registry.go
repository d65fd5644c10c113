package member

import (
	"cmp"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/google/renameio/v2/maybe"
	"github.com/nats-io/nkeys"

	"divisi/internal/usage"
)

const (
	registryFile   = "members.json"
	registryFormat = 1
	// tokenLife is how long a token can be used, tokenMemory how long its end is remembered, to tell that it came too late.
	tokenLife   = 10 * time.Minute
	tokenMemory = 24 * time.Hour
)

// The classes of refusal. The text around them says whose fault it is and what to do.
var (
	// ErrToken: a token that was used, has ended, or is of another server.
	ErrToken = errors.New("the token admits no member")
	// ErrName: a name that another member has, or that no member can have.
	ErrName = errors.New("the name cannot be given")
	// ErrUnknown: there is no member of that name, or token of that id.
	ErrUnknown = errors.New("the server has none of that name")
)

// Registry is who may use one server: its members, and the tokens that can still make one. It is kept in a file, which changes
// before an answer is given. Its methods may be called by many goroutines at once.
type Registry struct {
	path  string
	clock func() time.Time
	// denied is told of connections that are refused; see OnDenied.
	denied func(who string)

	mu      sync.Mutex
	entries entries
}

// entries is members.json.
type entries struct {
	Format  int         `json:"format"`
	Members []Member    `json:"members"`
	Tokens  []openToken `json:"tokens"`
}

// openToken is a token that was dispatched and not used up. The file does not have its secret.
type openToken struct {
	SHA256 string    `json:"sha256"`
	Role   Role      `json:"role"`
	Name   string    `json:"name,omitempty"` // the only name that it admits; empty for any
	Ends   time.Time `json:"ends"`
	Uses   int       `json:"uses,omitempty"` // how many members it admits; 0 for one
	Tags   []string  `json:"tags,omitempty"`
	Raw    bool      `json:"raw,omitempty"`
	// Replaces is the key in whose place it gives the member of the name another one; empty for none.
	Replaces string `json:"replaces,omitempty"`
}

// id names a token, whose secret only its holder knows. No member can have such a name.
func (t *openToken) id() string { return "token:" + t.SHA256[:tokenID] }

// tokenID is how many digits of its sum name a token.
const tokenID = 12

// Open reads the registry of a directory, which is empty where there is none.
func Open(dir string, clock func() time.Time) (*Registry, error) {
	r := &Registry{path: filepath.Join(dir, registryFile), clock: clock, entries: entries{Format: registryFormat}}
	data, err := os.ReadFile(r.path)
	if errors.Is(err, fs.ErrNotExist) {
		return r, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read the members of the server: %w", err)
	}
	if err := decode(data, &r.entries); err != nil {
		return nil, r.damaged(err)
	}
	return r, r.check()
}

// OnDenied has a function told what a connection that is refused came with. It is set before the registry is used, and called by
// many goroutines.
func (r *Registry) OnDenied(told func(who string)) { r.denied = told }

func (r *Registry) check() error {
	if r.entries.Format != registryFormat {
		return usage.Errorf("%s has the format %d, and this program reads %d", r.path, r.entries.Format, registryFormat)
	}
	names, keys := map[string]bool{}, map[string]bool{}
	for _, m := range r.entries.Members {
		if err := m.valid(); err != nil {
			return r.damaged(err)
		}
		if names[m.Name] || keys[m.Key] {
			return r.damaged(fmt.Errorf("%s is there twice, by name or by key", m.Name))
		}
		names[m.Name], keys[m.Key] = true, true
	}
	for _, t := range r.entries.Tokens {
		if len(t.SHA256) != hex.EncodedLen(sha256.Size) || !t.Role.joins() {
			return r.damaged(errors.New("a token has no sum, or the wrong role"))
		}
	}
	return nil
}

func (r *Registry) damaged(err error) error {
	return usage.Errorf("%s is damaged: %v. Mend it, or remove it: then each member has to join again", r.path, err)
}

// NewToken makes a token. The caller adds where the server is.
func (r *Registry) NewToken(a Admission) (Token, error) {
	t := Token{Secret: rand.Text(), Role: a.Role, Replaces: a.Replaces}
	err := r.change(func(e *entries) error {
		key := ""
		if a.Replaces {
			at := e.member(a.Name)
			if at < 0 {
				return fmt.Errorf("rotate the key of %q: %w", a.Name, ErrUnknown)
			}
			e.endRotations(a.Name)
			m := e.Members[at]
			a.Role, a.Tags, a.Raw, key = m.Role, m.Tags, m.Raw, m.Key
			t.Role = a.Role
		}
		if err := a.check(); err != nil {
			return err
		}
		now := r.clock().UTC()
		e.Tokens = slices.DeleteFunc(e.Tokens, func(t openToken) bool { return now.Sub(t.Ends) > tokenMemory })
		e.Tokens = append(e.Tokens, openToken{
			SHA256: sum(t.Secret), Role: a.Role, Name: a.Name, Ends: now.Add(cmp.Or(a.Life, tokenLife)), Uses: a.Uses,
			Tags: a.Tags, Raw: a.Raw, Replaces: key,
		})
		return nil
	})
	return t, err
}

// Admit makes the owner of a key a member, and uses the token up. A name may be left out where the token has one. After an error
// the token is as it was.
func (r *Registry) Admit(secret, publicKey, name string) (Member, error) {
	var m Member
	err := r.change(func(e *entries) error {
		at, err := e.open(secret, r.clock())
		if err != nil {
			return err
		}
		if m, err = e.candidate(e.Tokens[at], publicKey, name); err != nil {
			return err
		}
		m.Joined = r.clock().UTC()
		if e.Tokens[at].Uses > 1 {
			e.Tokens[at].Uses--
		} else {
			e.Tokens = slices.Delete(e.Tokens, at, at+1)
		}
		e.Members = slices.DeleteFunc(e.Members, func(other Member) bool { return other.Key == m.Key || other.Key == m.before })
		e.Members = append(e.Members, m)
		return nil
	})
	if err != nil {
		return Member{}, err
	}
	return m, nil
}

// open finds a token that can be used.
func (e *entries) open(secret string, now time.Time) (int, error) {
	want := sum(secret)
	at := slices.IndexFunc(e.Tokens, func(t openToken) bool { return t.SHA256 == want })
	if at < 0 {
		return 0, fmt.Errorf("%w: it was used already, or another server made it. Have a new one made", ErrToken)
	}
	if ends := e.Tokens[at].Ends; !now.Before(ends) {
		return 0, fmt.Errorf("%w: it ended at %s. Have a new one made", ErrToken, ends.Format(time.RFC3339))
	}
	return at, nil
}

// candidate is the member that a token would make.
func (e *entries) candidate(t openToken, publicKey, name string) (Member, error) {
	if name == "" {
		name = t.Name
	}
	if t.Name != "" && name != t.Name {
		return Member{}, fmt.Errorf("%w: the token admits %s alone, not %q", ErrName, t.Name, name)
	}
	if err := admissible(name); err != nil && t.Replaces == "" {
		return Member{}, fmt.Errorf("%w: %w", ErrName, err)
	}
	if t.Replaces != "" && !slices.ContainsFunc(e.Members, func(m Member) bool { return m.Name == name && m.Key == t.Replaces }) {
		return Member{}, fmt.Errorf("%w: %s has another key by now, or is no member any more", ErrToken, name)
	}
	if !nkeys.IsValidPublicUserKey(publicKey) {
		return Member{}, fmt.Errorf("%w: the key of %s is no public key of a user", ErrToken, name)
	}
	m := Member{Name: name, Role: t.Role, Key: publicKey, Tags: t.Tags, Raw: t.Raw}
	for _, other := range e.Members {
		switch same := other.Key == publicKey; {
		case other.Name == name && !same && t.Replaces == other.Key:
			m.before = other.Key
		case other.Name != name && strings.EqualFold(other.Name, name) && t.Replaces == "":
			return Member{}, fmt.Errorf("%w: %s is a member, and people would take %s for it. Choose another name",
				ErrName, other.Name, name)
		case other.Name == name && !same:
			return Member{}, fmt.Errorf("%w: another member is called %s. Choose another name, or have that one removed",
				ErrName, name)
		case other.Name != name && same:
			return Member{}, fmt.Errorf("%w: the key belongs to %s already", ErrName, other.Name)
		}
	}
	return m, nil
}

// endRotations ends the tokens that give a member another key.
func (e *entries) endRotations(name string) {
	e.Tokens = slices.DeleteFunc(e.Tokens, func(t openToken) bool { return t.Replaces != "" && t.Name == name })
}

// member finds a member by its name; -1 for none.
func (e *entries) member(name string) int {
	return slices.IndexFunc(e.Members, func(m Member) bool { return m.Name == name })
}

// Offer is a token that can still be used: Uses is how many members it admits.
type Offer struct {
	ID   string
	Role Role
	Name string
	Ends time.Time
	Uses int
	Tags []string
	Raw  bool
}

// Tokens are those that can still be used, the first to end first.
func (r *Registry) Tokens() (open []Offer) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, t := range r.entries.Tokens {
		if r.clock().Before(t.Ends) {
			open = append(open, Offer{
				ID: t.id(), Role: t.Role, Name: t.Name, Ends: t.Ends, Uses: max(1, t.Uses), Tags: t.Tags, Raw: t.Raw,
			})
		}
	}
	slices.SortFunc(open, func(a, b Offer) int { return cmp.Or(a.Ends.Compare(b.Ends), cmp.Compare(a.ID, b.ID)) })
	return open
}

// Cancel ends a token by its id. Members that it has admitted stay.
func (r *Registry) Cancel(id string) error {
	return r.change(func(e *entries) error {
		at := slices.IndexFunc(e.Tokens, func(t openToken) bool { return t.id() == id })
		if at < 0 {
			return fmt.Errorf("end the token %.40q: %w", id, ErrUnknown)
		}
		e.Tokens = slices.Delete(e.Tokens, at, at+1)
		return nil
	})
}

// Members are all members, by their names.
func (r *Registry) Members() []Member {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.SortedFunc(slices.Values(r.entries.Members), func(a, b Member) int {
		if a.Name < b.Name {
			return -1
		}
		return 1
	})
}

// Remove has the server admit a member no more. Connections that it has continue until they are cut: (*bus.Bus).Disconnect does
// both.
func (r *Registry) Remove(name string) (removed Member, err error) {
	err = r.change(func(e *entries) error {
		at := e.member(name)
		if at < 0 {
			return fmt.Errorf("remove %q: %w", name, ErrUnknown)
		}
		removed = e.Members[at]
		e.endRotations(name)
		e.Members = slices.Delete(e.Members, at, at+1)
		return nil
	})
	return removed, err
}

// Member finds a member by its name.
func (r *Registry) Member(name string) (Member, bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	at := r.entries.member(name)
	if at < 0 {
		return Member{}, false
	}
	return r.entries.Members[at], true
}

// ByKey finds a member.
func (r *Registry) ByKey(key string) (Member, bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, m := range r.entries.Members {
		if m.Key == key {
			return m, true
		}
	}
	return Member{}, false
}

// opens reports until when a token can be used.
func (r *Registry) opens(secret string) (ends time.Time, ok bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	at, err := r.entries.open(secret, r.clock())
	if err != nil {
		return time.Time{}, false
	}
	return r.entries.Tokens[at].Ends, true
}

// change writes what do makes of the entries, and then takes it over. After an error nothing has changed.
func (r *Registry) change(do func(*entries) error) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	next := entries{
		Format: registryFormat, Members: slices.Clone(r.entries.Members), Tokens: slices.Clone(r.entries.Tokens),
	}
	if err := do(&next); err != nil {
		return err
	}
	data, err := json.MarshalIndent(next, "", "  ")
	if err != nil {
		return fmt.Errorf("encode %s: %w", r.path, err)
	}
	if err := os.MkdirAll(filepath.Dir(r.path), 0o700); err != nil {
		return fmt.Errorf("make the directory of %s: %w", r.path, err)
	}
	if err := maybe.WriteFile(r.path, append(data, '\n'), 0o600); err != nil {
		return fmt.Errorf("write the members of the server: %w", err)
	}
	r.entries = next
	return nil
}

func sum(secret string) string {
	s := sha256.Sum256([]byte(secret))
	return hex.EncodeToString(s[:])
}
