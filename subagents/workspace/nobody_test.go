package workspace_test

const asNobody = "DIVISI_TEST_AS_NOBODY"

func runAsNobody() int { return 0 }
