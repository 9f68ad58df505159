/** Texts of a run, as every protocol puts them together from its updates. Pure. */
import { writeJson } from '../../../core/json.ts'
import type { Generation } from '../../../domain/generations/index.ts'
import type { RunUpdate } from './segment-log.ts'

/**
 * What a piece of text on its way adds to the `known` characters before it; empty for one that does not continue them, which is a
 * part of the text when it is committed.
 */
export function addedBy({ offset, text }: Extract<RunUpdate, { type: 'text' }>, known: number): string {
  return offset > known ? '' : text.slice(known - offset)
}

/** The structured output of a run, as JSON, whose last step said no text; null where there is none to say. */
export function unsaidOutput({ output }: Generation, lastText: string): string | null {
  const object = output?.object ?? null
  return object === null || lastText.trim() !== '' ? null : writeJson(object)
}

/** The sentence for a run that failed or whose time is over. */
export function failureText({ error }: Generation): string {
  return error?.message ?? 'The time of the run is over.'
}
