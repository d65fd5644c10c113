package sandbox

import (
	"os"
	"testing"
	"fmt"
	"time"
	"path/filepath"
)

func TestZZAttack(t *testing.T) {
	p := newPlace(t)
	fmt.Println("secret in env:", os.Getenv("GEMINI_API_KEY") != "")
	c := p.shell(`cat /proc/$PPID/environ | tr '\0' '\n' | grep -c GEMINI; for p in /proc/[0-9]*; do if tr '\0' '\n' < $p/environ 2>/dev/null | grep -q GEMINI_API_KEY; then echo LEAK $p $(tr '\0' ' ' <$p/cmdline); fi; done; head -c 10 /proc/$PPID/mem; ls -l /proc/$PPID/fd | head -5; ls -l /proc/self/fd`)
	out := p.run(t, c)
	fmt.Println(out.Text())
	c = p.shell(`env -i setsid sh -c 'sleep 1; echo evil > `+p.tree+`/late' >/dev/null 2>&1 </dev/null & sleep 0.1; echo started`)
	out = p.run(t, c)
	fmt.Println(out.Text(), out.Duration)
	time.Sleep(1500*time.Millisecond)
	_, err := os.Stat(filepath.Join(p.tree,"late"))
	fmt.Println("late write:", err == nil)
	c = p.shell(`chmod 777 $OUT/victim; touch -d 2001-01-01 $OUT/victim; setfattr -n user.x -v y $OUT/victim; ls -l --time-style=full-iso $OUT`)
	c.Env = append(c.Env, "OUT="+p.outside)
	os.WriteFile(filepath.Join(p.outside,"victim"), nil, 0o600)
	fmt.Println(p.run(t, c).Text())
}
