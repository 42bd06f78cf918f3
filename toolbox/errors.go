package toolbox

import "errors"

// ErrUnrecorded says that the provider was asked and the journal could not keep what it answered: the outcome is unknown until
// it is looked up. It is in errors of Call, Rule and Step, together with the journal's own.
var ErrUnrecorded = errors.New("the provider's answer could not be recorded")

// ErrNoOperation says that no operation, or more than one, has that number.
var ErrNoOperation = errors.New("no such operation")

// ErrElsewhere says that an operation belongs to another provider than the one that this process speaks to. Step and Rule return
// it; nothing was sent and nothing was asked.
var ErrElsewhere = errors.New("another provider has this operation")
