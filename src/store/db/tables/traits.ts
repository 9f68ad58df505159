/**
 * How a table says what it and each of its columns of text or JSON hold of a person or a run: when its rows go, with what they go,
 * and what erasure takes. A column that is left out does not compile.
 */
import { getTableColumns, getTableName } from 'drizzle-orm'
import type { PgTable } from 'drizzle-orm/pg-core'

/** What a column holds. */
export type Content =
  /** Ids, states, times, hashes and what is encrypted. Nothing that anybody says is in it. */
  | 'fact'
  /** What is set up in the project, or said in deciding about it. It stays when a person is erased. */
  | 'setting'
  /** What a person or a run has said, given or got. Nothing of it is left of whom it was that is erased. */
  | 'content'

/** What a row goes with. */
export type Whole = 'run' | 'call' | 'approval' | 'event' | 'webhook'

/** The setting of a project's retention under which a row goes by its age. */
export type Days = 'runDays' | 'eventDays' | 'fileDays' | 'deliveryDays' | 'auditDays'

interface Traits<Column extends string = string> {
  /** A step of the sweep removes it by age, unless a hold keeps it. */
  under?: Days
  /**
   * It goes in the transaction that removes the run, call, approval, event or webhook whose id the column has, whatever its age.
   * By hand: its column does not say whose it is, so a statement of its own finds it.
   */
  with?: Partial<Record<Whole, Column | 'by hand'>>
  /** It ends by a clock of its own, with or without a hold: by when. */
  soon?: string
  /**
   * When a person is erased whose id the column has, the rows go (`ROWS`), or the id takes the place of their contents
   * (`CONTENTS`).
   */
  erased?: { by: Column; what: 'ROWS' | 'CONTENTS' }
}

type Columns<Table extends PgTable> = Table['_']['columns']

/** The names of the columns of text or JSON, and of words that are searched for. The ids of row and project are facts. */
type Texts<Table extends PgTable> = {
  [Name in keyof Columns<Table> & string]: Columns<Table>[Name]['_']['dataType'] extends 'string' | 'custom'
    ? Name extends 'id' | 'projectId'
      ? never
      : Name
    : never
}[keyof Columns<Table> & string]

/** Each column is in one of the lists: what is left out is missing. */
type Lists<Every, Fact, Setting, Said> = {
  fact?: readonly Fact[]
  setting?: readonly Setting[]
  content?: readonly Said[]
} & ([Exclude<Every, Fact | Setting | Said>] extends [never]
  ? unknown
  : { missing: Exclude<Every, Fact | Setting | Said> })

export interface TableTraits extends Traits {
  /** As the database names it. */
  name: string
  table: PgTable
  /** By the names of the columns in the database. */
  columns: ReadonlyMap<string, Content>
}

/** Declares a table. Every column of text or JSON is in one of the lists. */
export function traitsOf<
  Table extends PgTable,
  Fact extends Texts<Table> = never,
  Setting extends Texts<Table> = never,
  Said extends Texts<Table> = never,
>(
  table: Table,
  traits: Traits<keyof Columns<Table> & string>,
  lists: Lists<Texts<Table>, Fact, Setting, Said>,
): TableTraits {
  const columns = getTableColumns(table)
  const named = (name: string) => columns[name]!.name
  const told = Object.entries(lists as Record<Content, readonly string[]>)
  const ids = ['id', 'projectId'].filter((name) => columns[name]?.dataType === 'string')
  const whole = Object.entries(traits.with ?? {}).map(([what, by]) => [
    what,
    by === 'by hand' ? by : named(by),
  ])
  return {
    ...traits,
    ...(traits.with ? { with: Object.fromEntries(whole) } : {}),
    ...(traits.erased ? { erased: { ...traits.erased, by: named(traits.erased.by) } } : {}),
    name: getTableName(table),
    table,
    columns: new Map([
      ...ids.map((name) => [named(name), 'fact'] as const),
      ...told.flatMap(([content, names]) => names.map((name) => [named(name), content as Content] as const)),
    ]),
  }
}
