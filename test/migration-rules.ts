/**
 * What a migration may do while replicas of the release before run beside it. Pure functions; store/migrations.test.ts applies them.
 * What they do not know they refuse.
 */

const table = String.raw`"?(\w+)"?`
const onTable = new RegExp(String.raw`^alter\s+table\s+(?:only\s+)?${table}\s+(.+)$`, 'is')
const newTable = new RegExp(String.raw`^create\s+table\s+(?:if\s+not\s+exists\s+)?${table}`, 'i')
const newIndex = new RegExp(
  String.raw`^create\s+(?:unique\s+)?index\s+(concurrently\s+if\s+not\s+exists\s+)?${table}\s+on\s+(?:only\s+)?${table}`,
  'i',
)
const references = new RegExp(String.raw`references\s+(?:"?public"?\.)?${table}`, 'i')
const newFunction = /^create\s+function\b/i
/** A value that is the same for all rows; any other rewrites the table. */
const constant = String.raw`(?:'[^']*'(?:::\w+)?|-?[\d.]+|true|false|null|now\(\))`
const newColumn = new RegExp(
  String.raw`^add\s+column\s+(?:if\s+not\s+exists\s+)?"?\w+"?(?:\s+(?!(?:default|not|references|unique|primary|generated|check|collate)\b)[\w(),[\]]+)+(\s+default\s+${constant})?(\s+not\s+null)?$`,
  'i',
)

interface Statement {
  /** The tables that were there before the migration and that it locks. */
  locks: string[]
  fault: string | null
}

/** Each reason why the migration cannot run beside the release before, as one line. */
export function faultsOfMigration(text: string): string[] {
  const statements = text
    .split('--> statement-breakpoint')
    .map((one) =>
      one
        .replaceAll(/^\s*--.*$/gm, '')
        .trim()
        .replace(/;$/, ''),
    )
    .filter(Boolean)
  const made = new Set(statements.flatMap((one) => newTable.exec(one)?.[1] ?? []))
  const judged = statements.map((one) => judge(one, made))
  const locks = [...new Set(judged.flatMap((one) => one.locks))]
  const isConcurrent = (one: string) => /\bconcurrently\b/i.test(one)
  return [
    ...judged.flatMap(({ fault }) => fault ?? []),
    ...(locks.length > 1
      ? [
          `locks ${locks.join(' and ')}: two tables in one transaction can deadlock; make a migration for each`,
        ]
      : []),
    ...(statements.some(isConcurrent) && !statements.every(isConcurrent)
      ? ['builds an index concurrently beside other statements: make a migration of its own for it']
      : []),
  ]
}

function judge(statement: string, made: Set<string>): Statement {
  const own = (name: string) => made.has(name)
  const locks = (...names: (string | undefined)[]) => names.filter((name) => name && !own(name)) as string[]
  const short = statement.replaceAll(/\s+/g, ' ').slice(0, 100)
  if (newTable.test(statement)) return { locks: [], fault: null }
  if (newFunction.test(statement)) return { locks: [], fault: null }
  const index = newIndex.exec(statement)
  if (index) {
    const [, concurrently, , name] = index
    const fault = own(name!) || concurrently ? null : `builds an index while ${name} is locked: ${short}`
    return { locks: concurrently ? [] : locks(name), fault }
  }
  const altered = onTable.exec(statement)
  if (!altered) return { locks: [], fault: `is not known to be harmless: ${short}` }
  const [, name, what] = altered as unknown as [string, string, string]
  return {
    locks: locks(name, references.exec(what)?.[1]),
    fault: own(name) ? null : changeFault(what, short),
  }
}

function changeFault(what: string, short: string): string | null {
  const column = newColumn.exec(what)
  if (column) return column[2] && !column[1] ? `adds a column that old programs do not fill: ${short}` : null
  if (/^add\s+constraint\b.*\bnot\s+valid$/is.test(what)) return null
  if (/^validate\s+constraint\b/i.test(what)) return null
  if (/^alter\s+column\s+"?\w+"?\s+set\s+default\b/i.test(what)) return null
  return `changes what old programs use: ${short}`
}
