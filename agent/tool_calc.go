package agent

import (
	"context"
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"math"
	"math/big"
	"strings"

	"github.com/pleat-dev/pleat/model"
)

func calc() Tool {
	type args struct{ Expression string }
	subject := func(in args) string { return in.Expression }
	return NewTool(model.Tool{
		Name: "calc",
		Description: "Works out an arithmetic expression exactly: + - * / % and parentheses, integers of any size, " +
			"fractions, pow(a, n), min, max. " +
			"Use it for sums, averages and unit conversions instead of reckoning in your head.",
		Schema: `{"type":"object","properties":{` +
			`"expression":{"type":"string","description":"For example (1024*1024 - 17) / 3"}},` +
			`"required":["expression"]}`,
	}, EffectNone, subject, func(_ context.Context, _ Call, in args) (string, error) {
		v, err := evaluate(in.Expression)
		if err != nil {
			return "", fmt.Errorf("work out %q: %w", in.Expression, err)
		}
		return v + "\n", nil
	})
}

// evaluate works out an expression. Sizes are bounded, so that no expression takes long.
func evaluate(expr string) (string, error) {
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
	v, err := value(tree)
	if err != nil {
		return "", err
	}
	if digits, exact := v.FloatPrec(); exact && digits <= 30 {
		return v.FloatString(digits), nil
	}
	f, _ := v.Float64()
	if math.IsInf(f, 0) {
		return "", errors.New("the result is too large")
	}
	return fmt.Sprintf("%.17g", f), nil
}

func value(e ast.Expr) (v *big.Rat, err error) {
	v = new(big.Rat)
	switch e := e.(type) {
	case *ast.ParenExpr:
		return value(e.X)
	case *ast.BasicLit:
		if _, ok := v.SetString(e.Value); !ok || e.Kind != token.INT && e.Kind != token.FLOAT {
			return nil, errors.New("a number cannot be read")
		}
	case *ast.UnaryExpr:
		if v, err = value(e.X); err == nil && e.Op == token.SUB {
			return v.Neg(v), nil
		}
		if err == nil && e.Op != token.ADD {
			return nil, fmt.Errorf("%s is not known", e.Op)
		}
	case *ast.BinaryExpr:
		x, err1 := value(e.X)
		y, err2 := value(e.Y)
		if err = errors.Join(err1, err2); err == nil {
			v, err = binary(x, e.Op, y)
		}
	case *ast.CallExpr:
		v, err = function(e)
	default:
		return nil, errors.New("only numbers, + - * / %, parentheses and functions are known")
	}
	if err == nil && v.Num().BitLen()+v.Denom().BitLen() > 1<<16 { // it would take long to work with
		return nil, errors.New("a number is too large")
	}
	return v, err
}

func binary(x *big.Rat, op token.Token, y *big.Rat) (*big.Rat, error) {
	switch {
	case op == token.ADD:
		return x.Add(x, y), nil
	case op == token.SUB:
		return x.Sub(x, y), nil
	case op == token.MUL:
		return x.Mul(x, y), nil
	case op == token.QUO && y.Sign() == 0:
		return nil, errors.New("division by zero")
	case op == token.QUO:
		return x.Quo(x, y), nil
	case op == token.REM && x.IsInt() && y.IsInt() && y.Sign() != 0:
		return new(big.Rat).SetInt(new(big.Int).Rem(x.Num(), y.Num())), nil
	case op == token.REM:
		return nil, errors.New("% needs whole numbers, the second not zero")
	}
	return nil, fmt.Errorf("%s is not known", op)
}

func function(e *ast.CallExpr) (*big.Rat, error) {
	name := fmt.Sprint(e.Fun)
	var args []*big.Rat
	for _, a := range e.Args {
		v, err := value(a)
		if err != nil {
			return nil, err
		}
		args = append(args, v)
	}
	better := map[string]int{"min": -1, "max": 1}[name]
	if name == "pow" && len(args) == 2 {
		return power(args[0], args[1])
	}
	if better == 0 || len(args) == 0 {
		return nil, fmt.Errorf("there is no function %s of %d numbers", name, len(args))
	}
	best := args[0]
	for _, a := range args[1:] {
		if a.Cmp(best) == better {
			best = a
		}
	}
	return best, nil
}

func power(x, y *big.Rat) (*big.Rat, error) {
	if !y.IsInt() || !y.Num().IsInt64() || y.Num().Int64() < 0 || y.Num().Int64() > 4096 {
		return nil, errors.New("the exponent has to be a whole number up to 4096")
	}
	if size := max(x.Num().BitLen(), x.Denom().BitLen()); int64(size)*y.Num().Int64() > 1<<17 {
		return nil, errors.New("a number is too large")
	}
	num, den := new(big.Int).Exp(x.Num(), y.Num(), nil), new(big.Int).Exp(x.Denom(), y.Num(), nil)
	return new(big.Rat).SetFrac(num, den), nil
}
