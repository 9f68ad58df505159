/**
 * Searches by words over a column of type tsvector. The program makes the words (core/words.ts), and not a parser of the
 * database, so that every database with every locale finds the same.
 */
import type { PgColumn } from 'drizzle-orm/pg-core'
import { sql, type SQL } from './sql.ts'

/** The words as the text that `vectorOf` reads: they have no spaces. */
export function textOfWords(words: Iterable<string>): string {
  return [...new Set(words)].join(' ')
}

/** The value of the column: the words of a text of `textOfWords`, and those of other lists of words. */
export function vectorOf(text: SQL, ...more: SQL[]): SQL {
  return sql`array_to_tsvector(${sql.join([sql`string_to_array(${text}, ' ')`, ...more], sql` || `)})`
}

/**
 * The list of the words of a name that only the database has. What is not ASCII is lower case as far as the locale of the
 * database knows it.
 */
export function wordsOfName(name: SQL): SQL {
  return sql`array_remove(regexp_split_to_array(
    regexp_replace(lower(${name}), '([\\u3040-\\u30ff\\u3400-\\u9fff\\uf900-\\ufaff])', ' \\1 ', 'g'),
    '[\\u0001-\\u002f\\u003a-\\u0040\\u005b-\\u0060\\u007b-\\u00a9]+'), '')`
}

/** The words of a name of ASCII letters, digits, hyphens and underscores, as an index can have them. */
export function vectorOfIdentifier(name: SQL): SQL {
  return sql`array_to_tsvector(array_remove(string_to_array(translate(lower(${name}), '-', '_'), '_'), ''))`
}

/** The condition that all words are in the vector, the last one as the beginning of a word. At least one word. */
export function hasWords(vector: PgColumn | SQL, words: readonly string[]): SQL {
  const last = words.length - 1
  return sql`${vector} @@ ${words.map((word, at) => `'${word}'${at === last ? ':*' : ''}`).join(' & ')}::tsquery`
}
