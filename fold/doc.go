// Package fold decides what a model is shown of a conversation.
//
// A [Fold] is one recorded decision: these messages, or this block, are replaced by that
// stub. A [Set] holds folds that do not overlap, and a [Layout], a conversation under a set,
// is what the view is rendered from. A [Policy] says which levers are pulled on which
// occasion, and a [Lever] is a value that proposes folds; packages policy and lever have
// pleat's own.
//
// [Make] plans. It copies the folds in force into a [Draft] and pulls the levers of the
// occasion one after the other; each adds folds to the draft until the view meets the
// draft's goal. A lever that folds turns into a page writes it through [Pages], and [Pages.Allot]
// says how much room a page has. What comes out is a [Plan]: data that changes nothing until
// a session stores it and puts it in force. That begins an epoch. Between two epochs a view
// only grows at its end, so that the provider's prompt cache stays warm.
//
// Planning is a function of the conversation, the folds in force and the options: the same
// input gives the same plan. It fails only where a block cannot be read, or a lever fails. Folds
// hold no copy of what they replace; the store does, and package recall gives it back.
package fold
