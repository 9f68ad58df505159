/** What a key is for, in words of the task, and when it ends. Pure. */
import type { Role } from '../../parts/gate-draft.ts'
import { t } from '../../texts/texts.tsx'

export interface KeyTask {
  value: string
  name: string
  role: Role
  isPerson: boolean
}

export const keyTasks = [
  { value: 'approve', name: t('A person who approves'), role: 'APPROVER', isPerson: true },
  { value: 'build', name: t('A person who builds tools and agents'), role: 'DEVELOPER', isPerson: true },
  { value: 'read', name: t('A person who only reads'), role: 'VIEWER', isPerson: true },
  { value: 'run', name: t('A person who administers the project'), role: 'ADMIN', isPerson: true },
  { value: 'call', name: t('A program that runs agents and calls tools'), role: 'CALLER', isPerson: false },
  { value: 'watch', name: t('A program that only reads'), role: 'VIEWER', isPerson: false },
  { value: 'manage', name: t('A program that sets up tools and agents'), role: 'DEVELOPER', isPerson: false },
] as const satisfies readonly KeyTask[]

export type TaskName = (typeof keyTasks)[number]['value']

export const tasksOf = (arePeople: boolean) => keyTasks.filter(({ isPerson }) => isPerson === arePeople)

export const keyEnds = [
  { value: '30', name: t('in 30 days') },
  { value: '90', name: t('in 90 days') },
  { value: '365', name: t('in a year') },
  { value: 'never', name: t('never') },
] as const

export type KeyEnd = (typeof keyEnds)[number]['value']

/** The moment of an end, as the API takes it; null: never. */
export function endOfKey(end: KeyEnd, now: number): string | null {
  return end === 'never' ? null : new Date(now + Number(end) * 86_400_000).toISOString()
}
