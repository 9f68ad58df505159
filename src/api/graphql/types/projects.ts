/** Projects in GraphQL. */
import {
  createProject,
  feedCursor,
  listProjects,
  updateProject,
  type Project,
} from '../../../domain/projects/index.ts'
import { newestPosition } from '../../../domain/events/index.ts'
import { connectionOf, hasPrefix, listCost, page } from '../builder/connections.ts'
import { addMutation } from '../builder/mutation.ts'
import type { Refs } from '../builder/refs.ts'

export function addProjects(refs: Refs): void {
  const { builder } = refs
  refs.Project.implement({
    description: 'A tenant: every tool, agent, generation and key belongs to one project.',
    interfaces: [builder.nodeInterfaceRef()],
    isTypeOf: (value) => hasPrefix(value, 'proj_'),
    fields: (t) => ({
      id: t.exposeID('id', { description: 'The id of the project; it begins with proj_.' }),
      name: t.exposeString('name', {
        description: 'The display name of the project; it need not be unique.',
      }),
      createdAt: t.expose('createdAt', { type: 'DateTime', description: 'When the project was created.' }),
      gatesNeedSecond: t.exposeBoolean('gatesNeedSecond', {
        description: 'Whether a change of a gate must be confirmed by another person: see proposeGateChange.',
      }),
      runGraceSeconds: t.exposeInt('runGraceSeconds', {
        description:
          'How long a generation of a person (OIDC) may still act after the token expired, in seconds.',
      }),
      feedCursor: t.string({
        nullable: true,
        description:
          'The position of the event feed before this operation read anything: projectEvents with it as ' +
          'after joins this ' +
          'response without a gap. Permission: events:Subscribe.',
        resolve: async (project, _args, { ctx, newestPosition: newest }) =>
          feedCursor(ctx, project.id, newest ?? (await newestPosition(ctx))),
      }),
    }),
  })
  const connection = connectionOf(refs.Project, 'Project')
  builder.queryField('project', (t) =>
    t.field({
      type: refs.Project,
      nullable: true,
      description: 'A project by id; null when it does not exist for this API key. Permission: projects:Get.',
      args: { id: t.arg.id({ required: true, description: 'The id of the project; it begins with proj_.' }) },
      resolve: (_root, { id }, { loaders }) => loaders.projects.load(id),
    }),
  )
  builder.queryField('projects', (t) =>
    t.field({
      type: connection,
      description: 'The projects that this API key can see, newest first. Permission: projects:List.',
      args: t.arg.connectionArgs(),
      complexity: listCost,
      resolve: (_root, args, { ctx }) => page(args, (p) => listProjects(ctx, { page: p })),
    }),
  )
  const payload = (name: string) =>
    builder.objectRef<{ project: Project }>(name).implement({
      description: 'The project after the mutation.',
      fields: (t) => ({
        project: t.expose('project', { type: refs.Project, description: 'The project after the mutation.' }),
      }),
    })
  addMutation(refs, {
    name: 'createProject',
    description:
      "Creates a project. Only an operator's API key may; it can then create keys for the project. " +
      'Permission: projects:Create.',
    input: builder.inputType('CreateProjectInput', {
      description: 'The project to create.',
      fields: (t) => ({
        name: t.string({
          required: true,
          description: 'The display name of the project, 1 to 100 characters.',
        }),
      }),
    }),
    payload: payload('CreateProjectPayload'),
    errors: ['ValidationError', 'LimitReachedError'],
    run: async (ctx, input) => ({ project: await createProject(ctx, input) }),
  })
  addMutation(refs, {
    name: 'updateProject',
    description: 'Changes the given fields of a project and keeps the others. Permission: projects:Update.',
    input: builder.inputType('UpdateProjectInput', {
      description: 'The changes of a project.',
      fields: (t) => ({
        id: t.id({ required: true, description: 'The id of the project; it begins with proj_.' }),
        name: t.string({ description: 'The display name of the project, 1 to 100 characters.' }),
        runGraceSeconds: t.int({
          description:
            'How long a generation of a person (OIDC) may still act after the token expired: 0 to 2,592,000 ' +
            'seconds. A new project has 0.',
        }),
        gatesNeedSecond: t.boolean({
          description:
            'Whether a change of a gate must be confirmed by another person. True needs the permission ' +
            'gates:Update too; once true, only proposeGateChange takes it back.',
        }),
      }),
    }),
    payload: payload('UpdateProjectPayload'),
    errors: ['ValidationError', 'NotFoundError'],
    run: async (ctx, input) => ({ project: await updateProject(ctx, input) }),
  })
}
