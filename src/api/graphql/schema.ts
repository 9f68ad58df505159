/** The schema, room by room. */
import type { GraphQLSchema } from 'graphql'
import { addAgents } from './agents.ts'
import { addApprovals } from './approvals.ts'
import { meterAnswers } from './answer-size.ts'
import { addAudit } from './audit.ts'
import { builder } from './builder.ts'
import { addEvents } from './events.ts'
import { addFiles } from './files.ts'
import { addGateChanges } from './gate-changes.ts'
import { addGateTrials, addGateTypes } from './gates.ts'
import { addGenerations } from './generations.ts'
import { addGrants } from './grants.ts'
import { addKeys, addRole } from './keys.ts'
import { boundLists } from './list-bounds.ts'
import { addLimits } from './limits.ts'
import { addMcpSettings } from './mcp-settings.ts'
import { addNodes } from './nodes.ts'
import { addProjects } from './projects.ts'
import { addProviders } from './providers.ts'
import { declareRefs } from './refs.ts'
import { addScalars } from './scalars.ts'
import { addSecrets } from './secrets.ts'
import { addSettingInputs } from './settings.ts'
import { addSubscriptions } from './subscriptions.ts'
import { addToolCalls } from './tool-calls.ts'
import { addTools } from './tools.ts'

let made: GraphQLSchema | null = null

/** The schema. Built once for each process; it holds no state. */
export function schemaOf(): GraphQLSchema {
  return (made ??= build())
}

function build(): GraphQLSchema {
  addScalars(builder)
  builder.queryType({ description: 'Everything that can be read.' })
  builder.mutationType({
    description: 'Everything that can be changed. Each answers a union: its payload or a typed refusal.',
  })
  builder.subscriptionType({
    description: 'Everything that can be followed. Every stream resumes after a cursor.',
  })
  const refs = declareRefs()
  addNodes(refs)
  addProjects(refs)
  const Role = addRole(refs)
  addKeys(refs, Role)
  addSecrets(refs)
  addAudit(refs)
  const gates = addGateTypes(refs, Role)
  addGateTrials(refs, gates)
  addTools(refs, gates)
  const files = addFiles(refs)
  addToolCalls(refs, files)
  const settings = addSettingInputs(builder)
  addAgents(refs, settings, gates, addMcpSettings(builder))
  addGateChanges(refs, gates)
  addApprovals(refs, gates, addGrants(refs))
  const events = addEvents(refs)
  addSubscriptions(refs, events)
  addGenerations(refs, settings, events, files)
  addProviders(refs)
  addLimits(refs)
  return meterAnswers(boundLists(builder.toSchema()))
}
