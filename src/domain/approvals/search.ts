/** What an approval is found by: the words that people see of it, and the condition of a search. */
import { kindOfId, type IdKind } from '../../core/ids.ts'
import { isJsonNumber, type Json } from '../../core/json.ts'
import { mask } from '../../core/scrub.ts'
import { searchedWords, wordsOf } from '../../core/words.ts'
import { hasWords, textOfWords, vectorOf, vectorOfIdentifier, wordsOfName } from '../../store/db/search.ts'
import { sql, type SQL } from '../../store/db/sql.ts'
import { approvals } from '../../store/db/tables/approvals.ts'
import { shownArguments, type Approval, type Vote } from './approval.ts'

/** Bounds of what is searchable, in characters: of all values of some arguments, and of each. */
const mostOfArguments = 4000
const mostOfValue = 1000

type QuestionNames = Pick<Approval, 'runtimeName' | 'question'>

/** The words of the tool and of the arguments, which must be masked, as the text that the statements take. */
export function wordsOfQuestion({ runtimeName, question }: QuestionNames, shown: readonly Json[]): string {
  return textOfWords([...wordsOf(`${runtimeName} ${question?.title ?? ''}`), ...shown.flatMap(wordsOfValues)])
}

/** The values; the names of arguments are the same in all approvals of a tool. */
function wordsOfValues(shown: Json): string[] {
  const words: string[] = []
  let left = mostOfArguments
  const stack = [shown]
  while (stack.length > 0 && left > 0) {
    const value = stack.pop()!
    if (typeof value === 'object' && !isJsonNumber(value)) {
      if (value !== null) stack.push(...Object.values(value).slice(0, left).toReversed())
      continue
    }
    if (value === mask || typeof value === 'boolean') continue
    const part = String(value).slice(0, Math.min(mostOfValue, left))
    left -= part.length + 1
    words.push(...wordsOf(part))
  }
  return words
}

function wordsOfVotes(votes: readonly Vote[]): string[] {
  return votes.flatMap(({ byName, reason, note }) => wordsOf(`${byName} ${reason ?? ''} ${note ?? ''}`))
}

/** The column of an approval that is inserted. `words` is an expression for `wordsOfQuestion`. */
export function searchOf(words: SQL, agentId: SQL): SQL {
  return vectorOf(words, agentWords(agentId))
}

/**
 * The column of the approval `p` after a vote. A plain vote adds its words; an edit writes all anew, because it may also
 * hide what was shown. Not in a table of its own: the verdict changes columns of indexes, so that the new version of the
 * row enters all of them in any case.
 */
export function searchAfter(after: Approval, isEdited: boolean): SQL {
  if (!isEdited) {
    const words = sql`${textOfWords(wordsOfVotes(after.votes.slice(-1)))}::text`
    return sql`coalesce(p.search, ${vectorOfIdentifier(sql`p.runtime_name`)}) || ${vectorOf(words)}`
  }
  const shown = [shownArguments(after), shownArguments(after, 'original')]
  const words = `${wordsOfQuestion(after, shown)} ${textOfWords(wordsOfVotes(after.votes))}`
  return vectorOf(sql`${words.trim()}::text`, agentWords(sql`p.agent_id`))
}

/** The name that the agent has now; none outside a generation. */
function agentWords(agentId: SQL): SQL {
  return sql`coalesce((select ${wordsOfName(sql`name`)} from agents where id = ${agentId}), '{}')`
}

/** The columns that have an id of this kind; each has an index. */
const columnsById: Partial<Record<IdKind, string>> = {
  approval: 'id',
  toolCall: 'tool_call_id',
  generation: 'generation_id',
  agent: 'agent_id',
  tool: 'tool_id',
  apiKey: 'requested_by',
  person: 'requested_by',
}

/**
 * The condition that an approval has all these words, the last one as a beginning, or that the text is an id of it. INVALID
 * for a text of more than 200 characters or without a letter or digit.
 */
export function found(search: string): SQL {
  const words = searchedWords(search)
  const byName = sql`(search is null and ${hasWords(vectorOfIdentifier(sql`runtime_name`), words)})`
  const wanted = search.trim()
  const column = columnsById[kindOfId(wanted) ?? 'step']
  const byId = column ? sql`or ${sql.raw(column)} = ${wanted}` : sql``
  return sql`(${hasWords(approvals.search, words)} or ${byName} ${byId})`
}
