package jsonspan

// A Kind is the kind of a JSON value, told by its first byte.
type Kind byte

// The kinds of values. Invalid is the kind of anything that begins no value.
const (
	Invalid Kind = iota
	Null
	True
	False
	Number
	String
	Array
	Object
)

var kindNames = [...]string{"invalid", "null", "true", "false", "a number", "a string", "an array", "an object"}

func (k Kind) String() string {
	if int(k) < len(kindNames) {
		return kindNames[k]
	}
	return "invalid"
}

// kinds maps the first byte of a value to its kind.
var kinds = [256]Kind{
	'n': Null, 't': True, 'f': False, '"': String, '[': Array, '{': Object, '-': Number,
	'0': Number, '1': Number, '2': Number, '3': Number, '4': Number,
	'5': Number, '6': Number, '7': Number, '8': Number, '9': Number,
}

// Kind returns the kind of the value at the cursor without consuming it. It
// looks at the first byte only, so a later Skip may still fail. It is Invalid
// where the cursor stands at no value, and after an error.
func (c *Cursor) Kind() Kind {
	if c.err != nil || c.state != atValue || c.pos >= len(c.data) {
		return Invalid
	}
	return kinds[c.data[c.pos]]
}
