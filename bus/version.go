package bus

import (
	"cmp"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/nats-io/nats.go"

	"divisi/bus/member"
)

// Version is what a program speaks. A member and its server tell each other before anything else: the member as the name of its
// connection, the server as its own. The zero Version is one of before that; it is compared with none.
type Version struct {
	Program  string // that of the program, for people
	Protocol int    // that of all that crosses: messages, events, subjects
	Oldest   int    // the oldest protocol of members that a server takes
}

// versionParts are <name>/<protocol>/<oldest>/<program>.
const versionParts = 4

// ErrIncompatible is that program and server speak different versions. It is ErrUnavailable too, and says what to install where.
var ErrIncompatible = fmt.Errorf("%w: the versions do not fit", ErrUnavailable)

// join puts the version behind a name.
func (v Version) join(name string) string {
	if v.Protocol == 0 {
		return name
	}
	program := strings.Map(func(r rune) rune {
		if r < 0x80 && (tokenByte(byte(r)) || strings.ContainsRune(".+~", r)) {
			return r
		}
		return '_'
	}, v.Program)
	return fmt.Sprintf("%s/%d/%d/%.60s", name, v.Protocol, v.Oldest, program)
}

// versionIn reads what join wrote. Another text has the zero Version.
func versionIn(name string) (v Version) {
	t := strings.SplitN(name, "/", versionParts)
	if len(t) < versionParts {
		return Version{}
	}
	var err [2]error
	v.Protocol, err[0] = strconv.Atoi(t[1])
	v.Oldest, err[1] = strconv.Atoi(t[2])
	if v.Program = t[3]; err != [2]error{} || v.Protocol < 1 || (Version{v.Program, 1, 0}).join("") != "/1/0/"+v.Program {
		return Version{}
	}
	return v
}

// takes reports whether a server of the version takes a member of another one.
func (v Version) takes(m Version) bool {
	return v.Protocol == 0 || m.Protocol >= v.Oldest && m.Protocol <= v.Protocol
}

// String is the version for people.
func (v Version) String() string {
	if v.Protocol == 0 {
		return "an earlier Divisi, which does not tell its version"
	}
	return fmt.Sprintf("Divisi %s, which speaks version %d of the protocol", cmp.Or(v.Program, "devel"), v.Protocol)
}

// refusal is what a member of a version is told.
func (v Version) refusal(m Version) string {
	return fmt.Sprintf("the server is %s, and this program is %s. Install Divisi %s on this machine and start it again",
		v, m, v.Program)
}

// fits refuses a server of another version. That of a member alone is sure to tell it.
func (b *Bus) fits(nc *nats.Conn) error {
	if b.login == nil || b.speaks.Protocol == 0 {
		return nil
	}
	there := versionIn(nc.ConnectedServerName())
	if there.Protocol > 0 && there.takes(b.speaks) {
		return nil
	}
	install := "the Divisi of that server"
	if there.Program != "" {
		install = "Divisi " + there.Program
	}
	return fmt.Errorf("%w: the server at %s is %s, and this program is %s. Install %s on this machine, or Divisi %s there",
		ErrIncompatible, b.url, there, b.speaks, install, b.speaks.Program)
}

// refusedBy has the words in which a server refuses this version; nil for another error.
func refusedBy(err error) error {
	if err == nil {
		return nil
	}
	if _, why, refused := strings.Cut(err.Error(), refusedMark); refused {
		return fmt.Errorf("%w: %s", ErrIncompatible, why)
	}
	return nil
}

// refusedMark begins what a gate says to a member of another version.
const refusedMark = "incompatible: "

// refusalRest is before a member is told that its version does not fit: a program of before connects again at once.
const refusalRest = time.Second

// meet compares the version of a client that has proven who it is.
func (c *watch) meet() error {
	if c.speaks.Protocol == 0 {
		return nil
	}
	m, known := c.members.ByKey(c.key)
	if !known {
		return nil // it joins
	}
	why := ""
	if !c.speaks.takes(c.claims) {
		why = c.speaks.refusal(c.claims)
	}
	if c.met != nil {
		c.met(m, c.claims, why)
	}
	if why == "" {
		return nil
	}
	select {
	case <-time.After(refusalRest):
	case <-c.over:
	}
	return fmt.Errorf("%w: %s%s", member.ErrRefused, refusedMark, why)
}
