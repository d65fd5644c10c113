package workspace

// Look is look, for tests.
var Look = (*Slot).look
