import { Module } from '@nestjs/common';

/** Pushes as applications ask for them, and what became of them. */
@Module({})
export class NotificationsModule {}
