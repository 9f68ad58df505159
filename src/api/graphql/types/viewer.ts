/** The viewer in GraphQL: who calls, what the caller may do, and the caller's sessions. */
import {
  permissionsOf,
  principalKind,
  type Principal,
  principalKindChoice,
  role,
  type Role,
  releaseShape,
} from '../../../domain/access/index.ts'
import { findOwnSession, listOwnSessions } from '../../../domain/sign-in/index.ts'
import { readTour, tourShape } from '../../../domain/projects/index.ts'
import type { Refs } from '../builder/refs.ts'

export function addViewer(refs: Refs): void {
  const { builder, shapes } = refs
  const Permission = builder
    .objectRef<{ action: string; resources: 'ALL' | 'SOME' }>('Permission')
    .implement({
      description: 'An action that the caller may do.',
      fields: (t) => ({
        action: t.exposeString('action', { description: 'The permission action, such as tools:Call.' }),
        everywhere: t.boolean({
          description:
            'Whether the action is allowed on every resource; false: on some, which the policy names.',
          resolve: ({ resources }) => resources === 'ALL',
        }),
      }),
    })
  const Viewer = builder
    .objectRef<{ models: { rehearses: boolean }; principal: Principal }>('Viewer')
    .implement({
      description: 'The caller of this operation, and a notice about the configuration.',
      fields: (t) => ({
        id: t.id({
          description: 'The id of the API key or person that calls.',
          resolve: (viewer) => viewer.principal.id,
        }),
        name: t.string({
          description: 'The name of the API key or person that calls.',
          resolve: (viewer) => viewer.principal.name,
        }),
        kind: t.field({
          type: shapes.choice(principalKindChoice),
          description: 'The kind of the caller: an API key or a person.',
          resolve: (viewer) => principalKind(viewer.principal.id),
        }),
        role: t.field({
          type: shapes.choice(role),
          nullable: true,
          description: 'The built-in role of the caller; null for an API key with its own policy.',
          resolve: (viewer) => viewer.principal.role as Role | null,
        }),
        permissions: t.field({
          type: [Permission],
          description:
            'The actions that the caller may do in the default project; what is missing here is refused.',
          resolve: (viewer) => permissionsOf(viewer.principal),
        }),
        votes: t.boolean({
          description:
            'Whether the caller may decide approvals and gate changes, where its permissions allow it.',
          resolve: (viewer) => viewer.principal.votes,
        }),
        operator: t.boolean({
          description:
            "Whether the caller has an operator's API key, which reaches every project and may set the secrets of " +
            'Slack and direct the votes of others.',
          resolve: (viewer) => viewer.principal.installation,
        }),
        expiresAt: t.field({
          type: 'DateTime',
          nullable: true,
          description:
            'When the API key, token or session of the caller ends, if nothing extends it; null: never.',
          resolve: async ({ principal }, _args, { ctx }) =>
            (await findOwnSession(ctx))?.expiresAt ?? principal.expiresAt,
        }),
        session: t.field({
          type: refs.Session,
          nullable: true,
          description: 'The session of the browser that calls; null for a caller with an API key or token.',
          resolve: (_viewer, _args, { ctx }) => findOwnSession(ctx),
        }),
        sessions: t.field({
          type: [refs.Session],
          description: 'The sessions of the caller that have not ended, the last used first.',
          resolve: (_viewer, _args, { ctx }) => listOwnSessions(ctx),
        }),
        project: t.field({
          type: refs.Project,
          nullable: true,
          description:
            'The default project of operations without projectId; null when it is hidden from this API key.',
          resolve: (viewer, _args, { loaders }) => loaders.projects.load(viewer.principal.projectId),
        }),
        release: t.field({
          type: shapes.object(releaseShape),
          description: 'The release of the server that answers.',
          resolve: (_viewer, _args, { ctx }) => ctx.release,
        }),
        tour: t.field({
          type: shapes.object(tourShape),
          nullable: true,
          description:
            "The tour of a first start; null where the server has no demo, and for a caller without an operator's API key.",
          resolve: (_viewer, _args, { ctx }) => readTour(ctx),
        }),
        modelNotice: t.string({
          nullable: true,
          description:
            'A warning that agents without a model use the rehearsal model, which is not an AI; null when a ' +
            'model is configured.',
          resolve: (viewer) =>
            viewer.models.rehearses
              ? 'No model key was found: agents without a model use builtin/rehearsal, which is not an AI and ' +
                'follows rules.'
              : null,
        }),
      }),
    })
  builder.queryField('viewer', (t) =>
    t.field({
      type: Viewer,
      description: 'The caller of this operation.',
      resolve: (_root, _args, { models, ctx }) => ({ models, principal: ctx.principal }),
    }),
  )
}
