/**
 * Subject: where nodes listen on NATS.
 *
 *   hb.<community>.call.<node>                      messages to a node; one subscription
 *   hb.<community>.reply.<node>.<process>.<call>    answers to it; one subscription, for as long as the process lives
 *
 * The community is a hash of its id, and a node is its key in base64url, which has only characters that a subject
 * allows.
 */
import { hashCommunityId } from '../discovery/announcement.ts'
import { stripNodeIdPrefix } from '../identity/node-key.ts'

export function formatCallSubject(communityId: string, nodeId: string): string {
  return `hb.${hashCommunityId(communityId)}.call.${stripNodeIdPrefix(nodeId)}`
}

export function formatReplyPrefix(communityId: string, nodeId: string, process: string): string {
  return `hb.${hashCommunityId(communityId)}.reply.${stripNodeIdPrefix(nodeId)}.${process}`
}

/** The last part of an answer's subject, which identifies the call. */
export function readLastSubjectToken(subject: string): string {
  return subject.slice(subject.lastIndexOf('.') + 1)
}

/** Names of JetStream buckets consist of letters, digits, `-` and `_`. */
export function formatBucketName(communityId: string): string {
  return `hearthbus_${hashCommunityId(communityId)}`
}
