/** A change of a gate that a second person confirms. */
import { command } from '../api/command.ts'
import type { VariablesOf } from '../api/document.ts'

export const proposeMutation = command('proposeGateChange')
export type ProposeInput = VariablesOf<typeof proposeMutation>['input']
