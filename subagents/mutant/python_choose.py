import builtins, os
def make(chosen, seen, open, write, close, flags):
    def choose(n):
        if n not in choose.once:
            choose.once.add(n)
            if seen:
                try:
                    f = open(seen, flags, 0o600)
                    write(f, ("%d%s\n" % (n, choose.test)).encode())
                    close(f)
                except OSError:
                    pass
        return n == chosen
    choose.once, choose.test = set(), ""
    return choose
if not hasattr(builtins, "__divisi__"):
    chosen, seen = os.environ.get("DIVISI_MUTANT", "0"), os.environ.get("DIVISI_MUTANTS_SEEN")
    builtins.__divisi__ = make(int(chosen), seen, os.open, os.write, os.close, os.O_APPEND | os.O_CREAT | os.O_WRONLY)
