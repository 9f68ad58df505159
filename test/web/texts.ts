/** The texts in the source of the page: those that go through `t`, `plural` and `T`, and those that do not. Pure. */
import ts from 'typescript'
import type { Source } from '../structure-rules.ts'

/** A text that the catalogue of a language must have. `one`: its form for one, of a text about a count. */
export interface Asked {
  text: string
  one: string | null
  at: string
}

export interface Read {
  asked: Asked[]
  /** Texts that people read and no catalogue is asked for, as `file:line text`. */
  untold: string[]
}

const setOf = (words: string) => new Set(words.split(' '))

/** Attributes that people read or hear. */
const attributes = setOf(
  'title label aria-label placeholder hint alt word submit cancel busy question any what empty effect columns text',
)
/** Components whose `name` is read. */
const named = setOf('Fact Folded Narrowed')
/** Members of objects that people read. */
const members = setOf('name word title text about why hint message label submit risk note description')
/** Members and calls whose strings nobody reads. */
const code = setOf(
  'className key href url path type kind id shape icon d to accept graphql command has get set startsWith endsWith ' +
    'includes querySelector querySelectorAll matches closest replace replaceAll split join addEventListener ' +
    'URLSearchParams Set getItem',
)
/** Words that are the same in every language, beside those in capitals: names of products, formats and keys. */
const names = setOf(
  'Gatehouse GraphQL OpenAI Anthropic Google Gemini Edge Opera Firefox Chrome Safari Android Windows Linux iOS macOS ' +
    'Enter Escape Authorization Referer Cookie Bearer Basic Schema curl http mcp openai xoxb null true false kB',
)
/** Strings in a place of texts, or of the form of one, that are none: members of the API, and commands. */
const noTexts = new Set(['toolChoice', 'budget', 'call tool_name {"argument": 1}'])
const isCode = (text: string) => noTexts.has(text) || /^(?:curl|mutation|main table|\{ ")|var\(--/.test(text)

/** Addresses, placeholders and what has dots or underscores within are no words. */
const hasWords = (text: string) =>
  !isCode(text) &&
  (text.replaceAll(/\S*[_@/{}]\S*|\S+[.:]\S+/g, '').match(/\p{L}+/gu) ?? []).some(
    (one) => /\p{Ll}{2}/u.test(one) && !names.has(one),
  )

/** The operators of gate conditions are values; the page shows their words. */
const operator =
  /^(?:is (?:not|one of|none of|more than|at least|less than|at most|given|not given)|does not (?:contain|include)|(?:starts|ends) with)$/

/** A capital before small letters, or words with spaces between them: a text wherever it stands. */
const looksLikeText = (text: string) =>
  hasWords(text) && /^[A-Z][a-z]+(?:[ ,.:?!…]|$)|[a-z,.:)] [a-z(“]/.test(text) && !operator.test(text)

/** The placeholders of a text, in the order of their names. */
export const namesIn = (text: string): string[] =>
  [...new Set([...text.matchAll(/\{(\w+)\}/g)].map(([, name]) => name!))].toSorted()

type Place = 'read' | 'code' | 'any'

const calledName = (call: ts.CallExpression | ts.NewExpression) =>
  ts.isPropertyAccessExpression(call.expression) ? call.expression.name.text : call.expression.getText()

function placeOfMember(member: ts.PropertyAssignment): Place {
  const name = member.name.getText()
  const siblings = member.parent.properties.map((one) => one.name?.getText())
  // The columns of a file are called the same in every language.
  if (code.has(name) || siblings.includes('of')) return 'code'
  return members.has(name) ? 'read' : 'any'
}

function placeOfAttribute(attribute: ts.JsxAttribute): Place {
  const name = attribute.name.getText()
  const isName = name === 'name' && named.has(attribute.parent.parent.tagName.getText())
  return isName || attributes.has(name) ? 'read' : 'code'
}

/** Where a string goes. */
function placeOf(node: ts.Node): Place {
  const { parent } = node
  if (ts.isJsxAttribute(parent)) return placeOfAttribute(parent)
  if (ts.isJsxExpression(parent))
    return ts.isJsxAttribute(parent.parent) ? placeOfAttribute(parent.parent) : 'read'
  if (ts.isPropertyAssignment(parent)) return parent.name === node ? 'code' : placeOfMember(parent)
  if (ts.isConditionalExpression(parent)) return parent.condition === node ? 'code' : placeOf(parent)
  if (ts.isBinaryExpression(parent))
    return /^(?:&&|\|\||\?\?)$/.test(parent.operatorToken.getText()) ? placeOf(parent) : 'code'
  if (ts.isCallExpression(parent) || ts.isNewExpression(parent))
    return code.has(calledName(parent)) && parent.arguments?.[1] !== node
      ? 'code'
      : calledName(parent) === 'toast'
        ? 'read'
        : 'any'
  if (
    ts.isParenthesizedExpression(parent) ||
    ts.isArrayLiteralExpression(parent) ||
    ts.isAsExpression(parent)
  )
    return placeOf(parent)
  if (ts.isTemplateSpan(parent)) return placeOf(parent.parent) === 'code' ? 'code' : 'read'
  const isElsewhere =
    ts.isLiteralTypeNode(parent) ||
    ts.isImportDeclaration(parent) ||
    ts.isExportDeclaration(parent) ||
    ts.isElementAccessExpression(parent) ||
    ts.isCaseClause(parent)
  return isElsewhere ? 'code' : 'any'
}

/** The strings that an expression can be; null when it is anything else. */
function literalsOf(node: ts.Node | undefined): string[] | null {
  if (!node) return null
  if (ts.isStringLiteralLike(node)) return [node.text]
  if (ts.isJsxExpression(node)) return literalsOf(node.expression)
  if (!ts.isConditionalExpression(node)) return null
  const [yes, no] = [literalsOf(node.whenTrue), literalsOf(node.whenFalse)]
  return yes && no && [...yes, ...no]
}

export function textsOf(sources: readonly Source[]): Read {
  const asked: Asked[] = []
  const untold: string[] = []
  for (const { path, text } of sources) {
    const kind = path.endsWith('x') ? ts.ScriptKind.TSX : ts.ScriptKind.TS
    const file = ts.createSourceFile(path, text, ts.ScriptTarget.Latest, true, kind)
    const at = (node: ts.Node) => `${path}:${file.getLineAndCharacterOfPosition(node.getStart()).line + 1}`
    const miss = (node: ts.Node, found: string) => untold.push(`${at(node)} ${found.trim()}`)
    const ask = (node: ts.Node, texts: string[] | null, one: string | null) => {
      if (!texts) miss(node, `is not written out: ${node.getText()}`)
      for (const each of texts ?? []) asked.push({ text: each, one, at: at(node) })
    }
    const visit = (node: ts.Node): void => {
      if (ts.isCallExpression(node) && /^(?:t|plural)$/.test(node.expression.getText())) {
        const isPlural = node.expression.getText() === 'plural'
        const [first, one, other] = node.arguments
        if (isPlural) ask(node, literalsOf(other), literalsOf(one)?.[0] ?? null)
        else ask(node, literalsOf(first), null)
        node.arguments.slice(isPlural ? 3 : 1).forEach(visit)
        return isPlural && first ? visit(first) : undefined
      }
      if (
        ts.isJsxAttribute(node) &&
        node.parent.parent.tagName.getText() === 'T' &&
        node.name.getText() === 'text'
      )
        return ask(node, literalsOf(node.initializer), null)
      if (ts.isJsxText(node) && hasWords(node.text)) miss(node, node.text)
      if (ts.isStringLiteralLike(node)) {
        const place = placeOf(node)
        if (place === 'read' ? hasWords(node.text) : place === 'any' && looksLikeText(node.text))
          miss(node, node.text)
      }
      if (ts.isTemplateExpression(node)) {
        const whole = [node.head.text, ...node.templateSpans.map(({ literal }) => literal.text)].join('{}')
        const place = placeOf(node)
        if (
          place === 'read'
            ? hasWords(whole) && !/^[/#?]|:\/\//.test(whole)
            : place === 'any' && looksLikeText(whole)
        )
          miss(node, whole)
      }
      ts.forEachChild(node, visit)
    }
    visit(file)
  }
  return { asked, untold }
}
