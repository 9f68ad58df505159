/** The tools that a model did not get, as fields of steps and agents. */
import type { LeftOutTool as LeftOutToolRow, Step } from '../../../domain/generations/index.ts'
import type { Refs } from '../builder/refs.ts'

/** Adds leftOut to Step and Agent. */
export function addLeftOut({ builder, Step: StepRef, Agent }: Refs): void {
  const LeftOutTool = builder.objectRef<LeftOutToolRow>('LeftOutTool').implement({
    description:
      "A tool of an agent that its model did not get: the model's provider refused it, or there were too many. It can be " +
      'called all the same, by callTool and by MCP clients.',
    fields: (t) => ({
      name: t.exposeString('name', { description: 'The runtime name of the tool.' }),
      toolId: t.exposeID('toolId', { description: 'The id of the tool, or of the agent that is called.' }),
      reason: t.exposeString('reason', {
        description:
          'Why the tool was left out, for people: the words of the provider, without keys and addresses, or how many tools ' +
          'the model takes.',
      }),
    }),
  })
  builder.objectField(StepRef, 'leftOut', (t) =>
    t.field({
      type: [LeftOutTool],
      description: 'The tools that were left out of the request to the model.',
      resolve: (step: Step) => step.leftOut ?? [],
    }),
  )
  builder.objectField(Agent, 'leftOut', (t) =>
    t.field({
      type: [LeftOutTool],
      description:
        'The tools that the model did not get in the newest run of the agent that asked its model.',
      resolve: (agent, _args, { loaders }) => loaders.leftOutOf.load(agent.id),
    }),
  )
}
