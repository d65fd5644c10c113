package wire

import (
	"crypto/ed25519"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"

	"divisi/bus/member"
	"divisi/internal/spec"
)

// Mandate is the part of a run that a person signs: where it begins, and all that it may ask of workers. Which tasks it has is
// not in it.
type Mandate struct {
	Run     string               `json:"run"`
	Base    string               `json:"base"`
	Name    string               `json:"name"`
	Project spec.Project         `json:"project"`
	Roles   map[string]spec.Role `json:"roles"`
	// Commands are those of tasks of roles with the network or secrets.
	Commands [][]string `json:"commands"`
	// Environment comes from the person's checkout, Content is the digest of its manifest; empty for nothing.
	Environment string `json:"environment"`
	Content     string `json:"content"`
}

// Mandate is the signature of the person who began the run, where the conductor has not changed it.
func (s *Setup) Mandate() Mandate {
	return Mandate{
		Run: s.Run, Base: s.Base, Name: s.Name, Project: s.Project, Roles: s.Roles, Environment: s.Environment,
		Content: s.Content, Commands: s.Commands,
	}
}

// Powerful reports whether the commands of a role are given the network or secrets.
func Powerful(r *spec.Role) bool { return r.Network || len(r.Secrets) > 0 }

// Commands are those of the tasks of a plan whose roles are given the network or secrets; nil without a plan.
func Commands(p *spec.Plan, roles map[string]spec.Role) (commands [][]string) {
	if p == nil {
		return nil
	}
	for i := range p.Tasks {
		t := &p.Tasks[i]
		if r := roles[t.Role]; len(t.Command) > 0 && Powerful(&r) {
			commands = append(commands, t.Command)
		}
	}
	return commands
}

// RepositoryName is the name of a repository in a mandate and in the policies of workers.
func RepositoryName(repo string) string { return filepath.Base(repo) }

// message is the signed text: it is the same before and after a mandate was sent.
func (m Mandate) message(person string) ([]byte, error) {
	var sent Mandate
	data, err := json.Marshal(m)
	if err == nil {
		err = json.Unmarshal(data, &sent)
	}
	if err == nil {
		data, err = json.Marshal(sent)
	}
	if err != nil {
		return nil, fmt.Errorf("encode the mandate of run %s: %w", m.Run, err)
	}
	return append([]byte("run of "+person+"\n"), data...), nil
}

// Warrant is a person's signature of a mandate, with the name and the public key of the person's login.
type Warrant struct {
	Person    string `json:"person"`
	Key       string `json:"key"`
	Signature []byte `json:"signature"`
}

// Sign signs the mandate with a login.
func (m Mandate) Sign(l *member.Login) (*Warrant, error) {
	key, err := l.Key()
	if err != nil {
		return nil, err
	}
	message, err := m.message(l.Name)
	if err != nil {
		return nil, err
	}
	signature, err := l.Vouch(message)
	return &Warrant{Person: l.Name, Key: key, Signature: signature}, err
}

// Verify returns why the owner of its key has not signed a mandate.
func (w *Warrant) Verify(m Mandate) error {
	message, err := m.message(w.Person)
	if err == nil {
		err = member.Vouched(w.Key, message, w.Signature)
	}
	if err != nil {
		return fmt.Errorf("run %s differs from the mandate of %.64s: %w", m.Run, w.Person, err)
	}
	return nil
}

// Sign has the conductor of the run sign what it puts on the queue: the names of run, task, attempt and sealed object. Without a
// key nothing is signed.
func (a *Assignment) Sign(key ed25519.PrivateKey) error {
	message, err := a.queued()
	if err == nil && key != nil {
		a.Signature = ed25519.Sign(key, message)
	}
	return err
}

// Signed returns why the conductor of a run has not signed what the queue says of an assignment. The key is the run's public one.
func (a *Assignment) Signed(key []byte) error {
	message, err := a.queued()
	switch {
	case err != nil:
		return err
	case len(key) != ed25519.PublicKeySize:
		return errors.New("the run has no key that assignments are signed with")
	case !ed25519.Verify(key, message, a.Signature):
		return errors.New("the conductor of the run has not signed it")
	}
	return nil
}

func (a *Assignment) queued() ([]byte, error) {
	return json.Marshal([]any{"divisi assignment", a.Run, a.Task.ID, a.Attempt, a.Group, a.Object})
}
