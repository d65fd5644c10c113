package dashboard

import (
	"crypto/rand"
	"crypto/sha256"
	"slices"
	"sync"
	"time"
)

// Visitor is a user of the page.
type Visitor struct {
	Name string
	// Writes reports that acts are allowed, Raw that the output of commands is shown.
	Writes, Raw bool
}

const (
	// sessionLife is how long a browser that a link has admitted stays so.
	sessionLife = 12 * time.Hour
	// maxSessions bounds the browsers, and the links that were not used; the oldest go first.
	maxSessions = 1000
)

// sessions are the visitors of the page: links that admit a browser, and browsers that were admitted. Both are secrets, and only
// their digests are kept. Its methods may be called from many goroutines.
type sessions struct {
	clock func() time.Time

	mu         sync.Mutex
	links, are []session
}

// session is a link, or an admitted browser. The zero end is none; a link that stands admits more than one browser.
type session struct {
	Visitor

	digest [sha256.Size]byte
	ends   time.Time
	stands bool
}

// link makes a link for a visitor, which admits one browser within its life. Life 0 makes one that stands as long as the server.
func (s *sessions) link(v Visitor, life time.Duration) (secret string) {
	secret = rand.Text()
	one := session{Visitor: v, digest: sha256.Sum256([]byte(secret)), stands: life == 0}
	s.mu.Lock()
	defer s.mu.Unlock()
	if life > 0 {
		one.ends = s.clock().Add(life)
	}
	s.links = s.fresh(s.links, one)
	return secret
}

// admit exchanges the secret of a link for that of a browser. It reports false where there is no such link, or no more.
func (s *sessions) admit(secret string) (browser string, admitted bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	i := s.find(s.links, secret)
	if i < 0 {
		return "", false
	}
	link := s.links[i]
	if !link.stands {
		s.links = slices.Delete(s.links, i, i+1)
	}
	browser = rand.Text()
	one := session{Visitor: link.Visitor, digest: sha256.Sum256([]byte(browser))}
	if !link.stands {
		one.ends = s.clock().Add(sessionLife)
	}
	s.are = s.fresh(s.are, one)
	return browser, true
}

// who is the visitor of a browser.
func (s *sessions) who(browser string) (Visitor, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if i := s.find(s.are, browser); i >= 0 {
		return s.are[i].Visitor, true
	}
	return Visitor{}, false
}

// end ends the links and the browsers of a visitor, and reports whether there were any.
func (s *sessions) end(name string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	theirs := func(one session) bool { return one.Name == name }
	had := len(s.links) + len(s.are)
	s.links, s.are = slices.DeleteFunc(s.links, theirs), slices.DeleteFunc(s.are, theirs)
	return len(s.links)+len(s.are) < had
}

// find returns the place of a secret that has not ended; -1 for none. Digests of secrets with 128 bits tell nothing by the time
// that comparing takes.
func (s *sessions) find(all []session, secret string) int {
	digest, now := sha256.Sum256([]byte(secret)), s.clock()
	return slices.IndexFunc(all, func(one session) bool {
		return one.digest == digest && (one.ends.IsZero() || now.Before(one.ends))
	})
}

// fresh adds one, and leaves out those that have ended, and the oldest where there are too many.
func (s *sessions) fresh(all []session, one session) []session {
	now := s.clock()
	all = slices.DeleteFunc(all, func(o session) bool { return !o.ends.IsZero() && !now.Before(o.ends) })
	all = append(all, one)
	return all[max(0, len(all)-maxSessions):]
}
