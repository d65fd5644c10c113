package main

import (
	"io"
	"os"
	"strconv"
	"syscall"

	"github.com/rogpeppe/go-internal/testscript"
	"golang.org/x/sys/unix"
)

// ttyCommands are commands of scripts for programs with a terminal.
var ttyCommands = map[string]func(*testscript.TestScript, bool, []string){"spawntty": spawnTTY, "press": press}

// spawnTTY: spawntty NAME program args… starts a program in the background on a terminal of 80 columns and 24 lines.
func spawnTTY(ts *testscript.TestScript, _ bool, args []string) {
	hand, err := os.OpenFile("/dev/ptmx", os.O_RDWR|unix.O_NOCTTY, 0)
	ts.Check(err)
	fd := int(hand.Fd())
	ts.Check(unix.IoctlSetPointerInt(fd, unix.TIOCSPTLCK, 0))
	n, err := unix.IoctlGetInt(fd, unix.TIOCGPTN)
	ts.Check(err)
	ts.Check(unix.IoctlSetWinsize(fd, unix.TIOCSWINSZ, &unix.Winsize{Row: 24, Col: 80}))
	tty, err := os.OpenFile("/dev/pts/"+strconv.Itoa(n), os.O_RDWR|unix.O_NOCTTY, 0)
	ts.Check(err)
	read := make(chan struct{})
	ts.Defer(func() { // after the program
		<-read
		_ = hand.Close()
	})
	Begin(ts, args, func(j *job) {
		j.cmd.Stdin, j.cmd.Stdout, j.cmd.Stderr = tty, tty, tty
		j.read = read
		j.cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
		go func() {
			defer close(read)
			_, _ = io.Copy(j, hand) // it ends with an error, when the program does
		}()
	})
	ts.Check(tty.Close())
	jobOf(ts, args[0]).hand = hand
}

// press: press NAME KEYS… writes keys on the terminal of a spawned program; enter and esc are those keys, and
// paste is what a terminal writes for two lines that a person pastes.
func press(ts *testscript.TestScript, _ bool, args []string) {
	for _, keys := range args[1:] {
		if special, is := map[string]string{"enter": "\r", "esc": "\x1b", "paste": "\x1b[200~1\r1\r\x1b[201~"}[keys]; is {
			keys = special
		}
		_, err := io.WriteString(jobOf(ts, args[0]).hand, keys)
		ts.Check(err)
	}
}
