package agent

import (
	"context"
	"errors"
	"fmt"
	"go/ast"
	"go/constant"
	"go/parser"
	"go/token"
	"math"
	"math/big"
	"strings"

	"github.com/pleat-dev/pleat/model"
)

func calc() Tool {
	type args struct{ Expression string }
	return NewTool(model.Tool{
		Name: "calc",
		Description: "Works out an arithmetic expression exactly: + - * / % and parentheses, integers of any size, fractions, pow(a, n), min, max. " +
			"Use it for sums, averages and unit conversions instead of reckoning in your head.",
		Schema: `{"type":"object","properties":{"expression":{"type":"string","description":"For example (1024*1024 - 17) / 3"}},"required":["expression"]}`,
	}, EffectNone, func(in args) string { return in.Expression }, func(_ context.Context, _ Call, in args) (string, error) {
		v, err := evaluate(in.Expression)
		if err != nil {
			return "", fmt.Errorf("work out %q: %w", in.Expression, err)
		}
		return v + "\n", nil
	})
}

// calcError is why an expression has no value. The functions below panic with it and
// evaluate returns it.
type calcError struct{ error }

func cannot(format string, args ...any) { panic(calcError{fmt.Errorf(format, args...)}) }

// evaluate works out an expression. Sizes are bounded, so that no expression takes long.
func evaluate(expr string) (result string, err error) {
	defer func() {
		switch p := recover().(type) {
		case nil:
		case calcError:
			err = p.error
		default:
			panic(p)
		}
	}()
	if len(expr) > 2_000 {
		return "", errors.New("it is too long")
	}
	expr = strings.NewReplacer("×", "*", "÷", "/", "−", "-").Replace(expr)
	if strings.Contains(expr, "**") || strings.Contains(expr, "^") {
		return "", errors.New("write powers as pow(a, b)")
	}
	tree, err := parser.ParseExpr(expr)
	if err != nil {
		return "", errors.New("it is not an arithmetic expression")
	}
	return show(value(tree)), nil
}

// show writes a number: exactly if it is whole or a short decimal, else to 17 digits.
func show(v constant.Value) string {
	if i := constant.ToInt(v); i.Kind() == constant.Int {
		return i.ExactString()
	}
	if r, ok := constant.Val(constant.ToFloat(v)).(*big.Rat); ok {
		if digits, exact := r.FloatPrec(); exact && digits <= 30 {
			return r.FloatString(digits)
		}
	}
	f, _ := constant.Float64Val(v)
	if math.IsInf(f, 0) || math.IsNaN(f) {
		cannot("the result is too large")
	}
	return fmt.Sprintf("%.17g", f)
}

func value(e ast.Expr) constant.Value {
	switch e := e.(type) {
	case *ast.ParenExpr:
		return value(e.X)
	case *ast.BasicLit:
		if e.Kind == token.INT || e.Kind == token.FLOAT {
			return bounded(constant.MakeFromLiteral(e.Value, e.Kind, 0))
		}
	case *ast.UnaryExpr:
		x := value(e.X)
		if e.Op == token.SUB || e.Op == token.ADD {
			return constant.UnaryOp(e.Op, x, 0)
		}
	case *ast.BinaryExpr:
		return binary(value(e.X), e.Op, value(e.Y))
	case *ast.CallExpr:
		return function(e)
	}
	cannot("only numbers, + - * / %%, parentheses and functions are known")
	return nil
}

// bounded refuses numbers that would take long to work with.
func bounded(v constant.Value) constant.Value {
	switch {
	case v.Kind() == constant.Unknown:
		cannot("a number cannot be read")
	case v.Kind() == constant.Int && constant.BitLen(v) > 1<<16:
		cannot("a number is too large")
	}
	return v
}

func binary(x constant.Value, op token.Token, y constant.Value) constant.Value {
	switch op {
	case token.ADD, token.SUB, token.MUL:
	case token.QUO:
		if constant.Sign(y) == 0 {
			cannot("division by zero")
		}
		x, y = constant.ToFloat(x), constant.ToFloat(y)
	case token.REM:
		x, y = constant.ToInt(x), constant.ToInt(y)
		if x.Kind() != constant.Int || y.Kind() != constant.Int || constant.Sign(y) == 0 {
			cannot("%% needs whole numbers, the second not zero")
		}
	default:
		cannot("%s is not known", op)
	}
	return bounded(constant.BinaryOp(x, op, y))
}

func function(e *ast.CallExpr) constant.Value {
	id, ok := e.Fun.(*ast.Ident)
	if !ok {
		cannot("that is not a function")
	}
	args := make([]constant.Value, len(e.Args))
	for i, a := range e.Args {
		args[i] = value(a)
	}
	op := map[string]token.Token{"min": token.LSS, "max": token.GTR}[id.Name]
	switch {
	case id.Name == "pow" && len(args) == 2:
		return power(args[0], args[1])
	case op == token.ILLEGAL || len(args) == 0:
		cannot("there is no function %s of %d numbers", id.Name, len(args))
	}
	best := args[0]
	for _, a := range args[1:] {
		if constant.Compare(a, op, best) {
			best = a
		}
	}
	return best
}

func power(x, y constant.Value) constant.Value {
	n, ok := constant.Int64Val(constant.ToInt(y))
	if !ok || n < 0 || n > 4096 {
		cannot("the exponent has to be a whole number up to 4096")
	}
	out := constant.MakeInt64(1)
	for range n {
		out = bounded(constant.BinaryOp(out, token.MUL, x))
	}
	return out
}
