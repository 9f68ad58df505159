/** What the fields of one form share. */
import { createContext, useContext, type ReactNode } from 'react'
import { writeJson } from '../../../src/core/exact-json.ts'
import type { Hint } from './schema-form-hints.ts'
import type { Schema } from './schema-form-resolve.ts'

export interface FieldProps {
  schema: unknown
  /** The name as it is shown; null for an entry of a list, and for the whole form. */
  name: string | null
  path: readonly string[]
  value: unknown
  isRequired: boolean
  /** Undefined leaves the place out. */
  onChange(value: unknown): void
}

export interface Form {
  root: Schema
  label: string
  /** What to say at a place. */
  messagesAt(path: readonly string[]): Hint[]
  /** Remembers that somebody has been at a place: from then on its hints are shown. */
  touch(path: readonly string[]): void
  /** Says why the text of the field `id` is no value, until it says null. */
  tellFault(id: string, fault: string | null): void
  /** Draws the field of a schema within the form. */
  renderField(props: FieldProps): ReactNode
}

export const FormContext = createContext<Form | null>(null)

export const useForm = (): Form => useContext(FormContext)!

export const keyOf = (path: readonly string[]): string => writeJson(path)
