package bus

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"

	"divisi/bus/member"
)

// joinRequest asks to become a member. It has the secret again: the server does not tell which token a message came with.
type joinRequest struct {
	Secret string `json:"secret"`
	Key    string `json:"key"`
	Name   string `json:"name,omitempty"`
	// Usual is the name where neither Name nor the token has one.
	Usual string `json:"usual,omitempty"`
}

// joinAnswer is what became of it.
type joinAnswer struct {
	Name  string      `json:"name,omitempty"`
	Role  member.Role `json:"role,omitempty"`
	Tags  []string    `json:"tags,omitempty"`
	Error string      `json:"error,omitempty"`
}

// Join exchanges a token for a login, whose key is made here and never leaves the machine. Where name is empty it is that of the
// token, or usual. ErrDenied when the server does not take the token or the name; the caller writes the login.
func Join(ctx context.Context, token, name, usual string) (*member.Login, error) {
	t, err := member.ParseToken(token)
	if err != nil {
		return nil, err
	}
	login, err := member.NewLogin(t, name)
	if err != nil {
		return nil, fmt.Errorf("join %s: %w", t.URL, err)
	}
	answer, err := ask(ctx, t, login, usual)
	if err != nil {
		return nil, fmt.Errorf("join %s: %w", t.URL, err)
	}
	login.Name, login.Role, login.Tags = answer.Name, answer.Role, answer.Tags
	return login, nil
}

// ask sends the public half of a login's key to the server of a token.
func ask(ctx context.Context, t member.Token, login *member.Login, usual string) (joinAnswer, error) {
	key, err := login.Key()
	if err != nil {
		return joinAnswer{}, err
	}
	q := joinRequest{t.Secret, key, login.Name, usual}
	request, err := json.Marshal(q) //nolint:gosec // it goes to the server of the token
	if err != nil {
		return joinAnswer{}, fmt.Errorf("encode the request: %w", err)
	}
	at, opts := secured(t.URL, t.Certificate)
	nc, err := nats.Connect(at, append(opts, nats.Name("divisi"), nats.Timeout(connectPatience), nats.NoReconnect(),
		nats.UserInfo(member.JoinUser, t.Secret), nats.CustomInboxPrefix(member.JoinInbox(t.Secret)))...)
	switch {
	case errors.Is(err, nats.ErrAuthorization):
		return joinAnswer{}, fmt.Errorf("%w: %w: it was used already, or has ended. Have a new one made", ErrDenied,
			member.ErrToken)
	case err != nil:
		return joinAnswer{}, fmt.Errorf("%w: %w", ErrUnavailable, err)
	}
	defer nc.Close()
	return asked(ctx, nc, request)
}

func asked(ctx context.Context, nc *nats.Conn, request []byte) (answer joinAnswer, err error) {
	ctx, cancel := context.WithTimeout(ctx, silence)
	defer cancel()
	m, err := nc.RequestWithContext(ctx, member.JoinSubject, request)
	switch {
	case errors.Is(err, nats.ErrNoResponders):
		return joinAnswer{}, fmt.Errorf("%w there for who joins", ErrNoListener)
	case err != nil:
		return joinAnswer{}, fmt.Errorf("%w: no answer: %w", ErrUnavailable, err)
	}
	if err := json.Unmarshal(m.Data, &answer); err != nil {
		return joinAnswer{}, fmt.Errorf("%w: read the answer: %w", ErrUnavailable, err)
	}
	if answer.Error != "" {
		return joinAnswer{}, fmt.Errorf("%w: %s", ErrDenied, answer.Error)
	}
	return answer, nil
}

// ServeJoins answers those who join, until stop is called or the Bus closes, and tells heard what became of each. The Bus must
// have been opened with Members.
func (b *Bus) ServeJoins(ctx context.Context, heard func(m member.Member, err error)) (stop func(), err error) {
	if b.members == nil {
		return nil, fmt.Errorf("%w: the bus was opened without members", ErrUnavailable)
	}
	return b.listen(ctx, member.JoinSubject, func(m Message, reply func([]byte) error) {
		data, err := json.Marshal(b.admit(m.Data, heard))
		if err == nil {
			err = reply(data)
		}
		if err != nil {
			b.log.Warn().Err(err).Msg("a joining member gets no answer")
		}
	})
}

func (b *Bus) admit(request []byte, heard func(m member.Member, err error)) joinAnswer {
	var r joinRequest
	if err := json.Unmarshal(request, &r); err != nil {
		return joinAnswer{Error: "the request cannot be read"}
	}
	m, err := b.members.Admit(r.Secret, r.Key, r.Name)
	if errors.Is(err, member.ErrName) && r.Name == "" && r.Usual != "" {
		m, err = b.members.Admit(r.Secret, r.Key, r.Usual)
	}
	heard(m, err)
	if err != nil {
		b.log.Info().Err(err).Msg("a token was refused")
		return joinAnswer{Error: err.Error()}
	}
	b.log.Info().Str("member", m.Name).Str("role", string(m.Role)).Msg("a member joined")
	if m.Before() != "" {
		if err := b.cut(m.Before()); err != nil { // the key is good for no new one
			b.log.Error().Err(err).Str("member", m.Name).Msg("connections with the key before are still open")
		}
	}
	return joinAnswer{Name: m.Name, Role: m.Role, Tags: m.Tags}
}

// Disconnect removes a member and cuts its connections.
func (b *Bus) Disconnect(name string) error {
	if b.members == nil || b.server == nil {
		return fmt.Errorf("%w: the bus was opened without members", ErrUnavailable)
	}
	m, err := b.members.Remove(name)
	if err != nil {
		return err
	}
	if err := b.cut(m.Key); err != nil {
		return fmt.Errorf("%s was removed: %w", m, err)
	}
	return nil
}

// cut ends the connections that were opened with a key.
func (b *Bus) cut(key string) error {
	srv := b.server.srv.Load()
	open, err := srv.Connz(&server.ConnzOptions{User: key, Username: true, State: server.ConnOpen, Limit: maxWaiting})
	if err != nil {
		return fmt.Errorf("%w: the open connections cannot be found: %w", ErrUnavailable, err)
	}
	for _, c := range open.Conns {
		if err := srv.DisconnectClientByID(c.Cid); err != nil { // it has gone by itself
			b.log.Debug().Err(err).Uint64("connection", c.Cid).Msg("cut a connection")
		}
	}
	return nil
}

// Connected counts the open connections of members, by their keys.
func (b *Bus) Connected() (map[string]int, error) {
	if b.server == nil {
		return nil, fmt.Errorf("%w: another process serves", ErrUnavailable)
	}
	open, err := b.server.srv.Load().Connz(&server.ConnzOptions{Username: true, State: server.ConnOpen, Limit: maxWaiting})
	if err != nil {
		return nil, fmt.Errorf("%w: the open connections cannot be found: %w", ErrUnavailable, err)
	}
	by := map[string]int{}
	for _, c := range open.Conns {
		by[c.AuthorizedUser]++
	}
	return by, nil
}
