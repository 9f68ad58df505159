/** How pages list types of events: "npm run schema" writes it from src/domain/events. */
export const declaredEvents = {
  PAUSE_ENDED: { group: 'project', isFollowed: true, isSent: true },
  PAUSE_STARTED: { group: 'project', isFollowed: true, isSent: true },
  SECRET_DELETED: { group: 'resources', isFollowed: true, isSent: true },
  SECRET_SET: { group: 'resources', isFollowed: true, isSent: true },
  TRIGGER_CREATED: { group: 'agents', isFollowed: true, isSent: true },
  TRIGGER_DELETED: { group: 'agents', isFollowed: true, isSent: true },
  TRIGGER_SKIPPED: { group: 'agents', isFollowed: true, isSent: true },
  TRIGGER_STARTED: { group: 'agents', isFollowed: true, isSent: true },
  TRIGGER_UPDATED: { group: 'agents', isFollowed: true, isSent: true },
} as const
